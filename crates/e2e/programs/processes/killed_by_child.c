// expect: signalled
// check: signal == 9
// why: a child kills the main process: a signal of its own making, no limit
#include "../hostile.h"
int main(void) {
    pid_t parent = getpid();
    if (spawn() == 0) {
        kill(parent, SIGKILL);
        _exit(0);
    }
    sleep_for_ever();
}
