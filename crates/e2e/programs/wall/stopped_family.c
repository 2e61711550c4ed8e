// run: --wall-time 0.4
// expect: wall_time_limit
// why: child stops parent, then itself
#include "../hostile.h"
int main(void) {
    pid_t parent = getpid();
    if (spawn() == 0) {
        kill(parent, SIGSTOP);
        raise(SIGSTOP);
    }
    sleep_for_ever();
}
