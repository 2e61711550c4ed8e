// run: --wall-time 0.4 --processes 24
// expect: wall_time_limit
// why: a family of sleepers in sessions of their own, the parent waits for all of them
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 20; i++)
        if (spawn() == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            sleep_for_ever();
        }
    while (wait(NULL) > 0) {
    }
    return 0;
}
