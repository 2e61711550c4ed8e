// expect: signalled
// check: signal == 11
// why: the fault is in a thread, the main thread sleeps
#include "../hostile.h"
static void *work(void *nothing) {
    (void)nothing;
    *(volatile int *)8 = 1;
    return NULL;
}
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) broken("pthread_create");
    sleep_for_ever();
}
