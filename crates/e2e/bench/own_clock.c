// Burns half a second of CPU time by its own clock and prints what that clock says, in nanoseconds.
#include <stdio.h>
#include <time.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
    volatile unsigned long x = 0;
    while (now() < 500000000LL)
        for (int i = 0; i < 10000; i++) x += i;
    printf("%lld\n", now());
    return 0;
}
