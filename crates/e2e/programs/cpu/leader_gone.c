// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: the main thread ends, so the process looks like a zombie while another thread burns
#include "../hostile.h"
static void *work(void *nothing) {
    (void)nothing;
    burn_for_ever();
}
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) broken("pthread_create");
    pthread_exit(NULL);
}
