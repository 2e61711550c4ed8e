// run: --cpu-time 0.3
// expect: cpu_time_limit
// check: time.cpu_ns <= 1.5*cpu-time
// why: four threads burn at once; the time of each alone stays below the limit for long
#include "../hostile.h"
static void *work(void *nothing) {
    (void)nothing;
    burn_for_ever();
}
int main(void) {
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL)) broken("pthread_create");
    }
    sleep_for_ever();
}
