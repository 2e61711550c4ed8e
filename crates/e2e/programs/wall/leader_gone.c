// run: --wall-time 0.4
// expect: wall_time_limit
// why: the main thread has ended, another sleeps on: the process must not be taken for ended
#include "../hostile.h"
static void *rest(void *nothing) {
    (void)nothing;
    sleep_for_ever();
}
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, rest, NULL)) broken("pthread_create");
    pthread_exit(NULL);
}
