// expect: ok|signalled|nonzero_exit
// why: adds a filter that answers its own calls: must not weaken ours, nor hang whoever waits
#include <linux/filter.h>
#include <linux/seccomp.h>
#include "../hostile.h"
int main(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, allow};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    MUST_FAIL("io_uring_setup", syscall(425, 8, (char[128]){0}));
    MUST_FAIL("unshare", unshare(CLONE_NEWUSER));
    return 0;
}
