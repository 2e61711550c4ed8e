// run: --wall-time 6 --processes 128
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: a hundred orphans in sessions of their own
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 100; i++)
        if (spawn() == 0) {
            setsid();
            sleep_for_ever();
        }
    return 0;
}
