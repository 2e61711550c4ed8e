// run: --memory 32M --processes 32 --cpu-time 4
// expect: memory_limit|nonzero_exit|ok
// needs: memory_group
// check: memory_peak_bytes <= 36000000
// why: descriptors, timers and queued signals are kernel memory too
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include "../hostile.h"
int main(void) {
    for (int child = 0; child < 24; child++) {
        if (spawn() != 0) continue;
        int watch = epoll_create1(0);
        for (;;) {
            int event = eventfd(0, 0);
            int timer = timerfd_create(CLOCK_MONOTONIC, 0);
            struct epoll_event interest = {.events = EPOLLIN};
            if (event < 0 || timer < 0) break;
            epoll_ctl(watch, EPOLL_CTL_ADD, event, &interest);
        }
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        while (sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0) {
        }
        timer_t timer;
        while (timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0) {
        }
        _exit(0);
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
