// expect: ok
// why: real-time and deadline classes, higher priorities for CPU and disk: all would make its time better than others'
#include "../hostile.h"
int main(void) {
    struct sched_param one = {1};
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } deadline = {48, 6, 0, 0, 0, 10000000, 30000000, 30000000};
    MUST_FAIL("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &one));
    MUST_FAIL("SCHED_RR", sched_setscheduler(0, SCHED_RR, &one));
    MUST_FAIL("SCHED_DEADLINE", syscall(SYS_sched_setattr, 0, &deadline, 0));
    MUST_FAIL("nice -20", setpriority(PRIO_PROCESS, 0, -20));
    MUST_FAIL("nice of all", setpriority(PRIO_USER, 0, -1));
    MUST_FAIL("ioprio real-time", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
    return 0;
}
