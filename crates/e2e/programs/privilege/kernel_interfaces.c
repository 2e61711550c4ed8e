// expect: ok
// why: interfaces of the kernel that namespaces do not cover and whose history is one of holes
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include "../hostile.h"
int main(void) {
    static char space[4096];
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
    MUST_FAIL("io_uring_setup", syscall(425, 8, space));
    MUST_FAIL("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
    MUST_FAIL("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    MUST_FAIL("userfaultfd", syscall(SYS_userfaultfd, 0));
    MUST_FAIL("userfaultfd, user mode", syscall(SYS_userfaultfd, 1));
    MUST_FAIL("keyctl", syscall(SYS_keyctl, 0, -3, 1));
    MUST_FAIL("add_key", syscall(SYS_add_key, "user", "name", "x", 1, -3));
    MUST_FAIL("request_key", syscall(SYS_request_key, "user", "name", NULL, -3));
    MUST_FAIL("modify_ldt", syscall(SYS_modify_ldt, 1, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
    MUST_FAIL("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
    MUST_FAIL("kcmp", syscall(SYS_kcmp, 1, 1, 0, 0, 0));
    MUST_FAIL("lookup_dcookie", syscall(SYS_lookup_dcookie, 0, space, sizeof space));
    MUST_FAIL("vhangup", syscall(SYS_vhangup));
    MUST_FAIL("quotactl", syscall(SYS_quotactl, 0x800005 << 8, "/dev/vda", 0, space));
    return 0;
}
