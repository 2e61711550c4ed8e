// expect: ok
// why: every call that changes the user or the group
#include <grp.h>
#include <sys/fsuid.h>
#include "../hostile.h"
int main(void) {
    gid_t none = 0;
    MUST_FAIL("setuid", syscall(SYS_setuid, 0));
    MUST_FAIL("setgid", syscall(SYS_setgid, 0));
    MUST_FAIL("setreuid", syscall(SYS_setreuid, 0, 0));
    MUST_FAIL("setresuid", syscall(SYS_setresuid, 0, 0, 0));
    MUST_FAIL("setresgid", syscall(SYS_setresgid, 0, 0, 0));
    MUST_FAIL("setgroups", syscall(SYS_setgroups, 1, &none));
    syscall(SYS_setfsuid, 0);
    if (syscall(SYS_setfsuid, -1) == 0) breach("setfsuid");
    return 0;
}
