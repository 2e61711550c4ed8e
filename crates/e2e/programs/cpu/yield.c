// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: gives the CPU away at every step, so that no tick ever finds it running for long
#include "../hostile.h"
int main(void) {
    for (;;) sched_yield();
}
