// run: --wall-time 6 --cpu-time 3
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: an orphan that burns after the main process has ended
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        burn_for_ever();
    }
    return 0;
}
