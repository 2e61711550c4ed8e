// run: --wall-time 0.4
// expect: wall_time_limit
// check: time.wall_ns >= 1*wall-time
// why: stops itself: stopped is not ended, and a stopped process takes no signal but SIGKILL and SIGCONT
#include "../hostile.h"
int main(void) {
    for (;;) raise(SIGSTOP);
}
