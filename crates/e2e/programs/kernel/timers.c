// run: --memory 16M --processes 64
// expect: ok|memory_limit
// host: 48M
// why: timers and queued signals of as many processes as there may be
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include "../many.h"
static void make(int child) {
    sigset_t all;
    timer_t timer;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (child % 2)
        while (!sigqueue(getpid(), SIGRTMIN, (union sigval){0})) {
        }
    while (!timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_NONE}, &timer)) {
    }
    while (timerfd_create(CLOCK_MONOTONIC, 0) >= 0 && eventfd(0, 0) >= 0 && signalfd(-1, &all, 0) >= 0) {
    }
}
int main(void) { return many(48, 0.4, make); }
