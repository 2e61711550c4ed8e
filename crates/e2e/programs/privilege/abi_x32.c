// expect: ok
// why: x32 system calls carry a flag in their number that a filter by numbers does not know
#include "../hostile.h"
int main(void) {
    MUST_FAIL("getpid by x32", syscall(0x40000000 | SYS_getpid));
    MUST_FAIL("ptrace by x32", syscall(0x40000000 | 521, 0, 0, 0, 0));
    return 0;
}
