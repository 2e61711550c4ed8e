// run: --wall-time 0.4
// expect: wall_time_limit
// why: suspended with all signals blocked
#include "../hostile.h"
int main(void) {
    sigset_t all;
    sigfillset(&all);
    for (;;) sigsuspend(&all);
}
