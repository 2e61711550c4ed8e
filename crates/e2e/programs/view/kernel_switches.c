// expect: ok
// why: the switches of the kernel: sysrq, core pattern, modprobe path, panic, sysctl of all kinds
#include "../hostile.h"
int main(void) {
    const char *paths[] = {"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/panic",
                           "/proc/sys/kernel/hostname", "/proc/sys/kernel/randomize_va_space", "/proc/sys/vm/overcommit_memory",
                           "/proc/sys/vm/drop_caches", "/proc/sys/fs/file-max", "/proc/sys/net/ipv4/ip_forward", "/proc/irq/0/smp_affinity",
                           "/proc/mtrr", "/proc/acpi/wakeup", "/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/sched_rt_runtime_us",
                           "/proc/sys/fs/binfmt_misc/register", "/proc/timer_list"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) MUST_FAIL(paths[i], write_back(paths[i]));
    return 0;
}
