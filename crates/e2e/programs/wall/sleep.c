// run: --wall-time 0.4
// expect: wall_time_limit
// check: time.cpu_ns <= 0.25*wall-time
// check: time.wall_ns >= 1*wall-time
// why: the plain sleeper uses no CPU at all
#include "../hostile.h"
int main(void) {
    nap(100);
    return 0;
}
