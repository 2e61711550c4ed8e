// run: --processes 8
// expect: ok
// check: exit_code == 0
// why: CLONE_PARENT makes a child of whoever started us: its exit code 5 must not be taken for ours
#include "../hostile.h"
int main(void) {
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(5);
    nap(0.1);
    return 0;
}
