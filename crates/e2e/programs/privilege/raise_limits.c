// expect: ok
// why: raises every resource limit it was given
#include "../hostile.h"
int main(void) {
    const int kinds[] = {RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_RTPRIO, RLIMIT_NICE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct rlimit now, more;
        getrlimit((__rlimit_resource_t)kinds[i], &now);
        if (now.rlim_max == RLIM_INFINITY) continue;
        more = (struct rlimit){now.rlim_max + 1, now.rlim_max + 1};
        if (setrlimit((__rlimit_resource_t)kinds[i], &more) == 0) breach("resource %d was raised", kinds[i]);
        if (getrlimit((__rlimit_resource_t)kinds[i], &now) || now.rlim_max > more.rlim_max) breach("resource %d", kinds[i]);
    }
    struct rlimit realtime;
    getrlimit(RLIMIT_RTPRIO, &realtime);
    if (realtime.rlim_max) breach("real-time priorities up to %lu", (unsigned long)realtime.rlim_max);
    return 0;
}
