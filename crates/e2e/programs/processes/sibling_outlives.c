// run: --processes 8 --wall-time 6
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: a sibling made with CLONE_PARENT that never ends must not hold the result
#include "../hostile.h"
int main(void) {
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) sleep_for_ever();
    return 0;
}
