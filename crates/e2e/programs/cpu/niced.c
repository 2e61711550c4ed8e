// run: --cpu-time 0.3 --wall-time 20
// expect: cpu_time_limit
// why: the lowest priority and the idle class, to starve and so to stay unseen
#include "../hostile.h"
int main(void) {
    struct sched_param none = {0};
    if (nice(19) == -1) dprintf(2, "nice refused\n");
    sched_setscheduler(0, SCHED_IDLE, &none);
    burn_for_ever();
}
