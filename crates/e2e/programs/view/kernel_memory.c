// expect: ok
// why: the kernel's memory, log, symbols and keys
#include "../hostile.h"
int main(void) {
    const char *paths[] = {"/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags", "/proc/vmallocinfo", "/proc/slabinfo",
                           "/sys/kernel/debug/sched", "/sys/kernel/tracing/trace", "/sys/firmware/dmi/tables/DMI", "/proc/1/pagemap_of_host"};
    char text[256];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int fd = (int)open_for(paths[i], O_RDONLY);
        if (fd >= 0 && read(fd, text, sizeof text) > 0) breach("%s can be read", paths[i]);
        if (fd >= 0) close(fd);
    }
    MUST_FAIL("syslog", syscall(SYS_syslog, 3, text, sizeof text));
    FILE *symbols = fopen("/proc/kallsyms", "r");
    unsigned long address = 0;
    if (symbols && fscanf(symbols, "%lx", &address) == 1 && address) breach("kernel addresses are shown: %lx", address);
    return 0;
}
