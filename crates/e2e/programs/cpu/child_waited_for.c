// run: --cpu-time 0.3
// expect: cpu_time_limit
// check: time.cpu_ns <= 1.5*cpu-time
// why: a child burns while its parent waits for it
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) burn_for_ever();
    wait(NULL);
    return 0;
}
