// run: --wall-time 6
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: a subreaper collects orphans in place of the sandbox's own first process, then leaves them
#include "../hostile.h"
int main(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (spawn() == 0) {
        if (spawn() == 0) sleep_for_ever();
        _exit(0);
    }
    wait(NULL);
    return 0;
}
