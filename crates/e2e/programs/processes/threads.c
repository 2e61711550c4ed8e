// run: --processes 8
// expect: ok
// why: threads count as processes do
#include "../hostile.h"
static void *rest(void *nothing) {
    (void)nothing;
    sleep_for_ever();
}
int main(void) {
    int alive = 1;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    while (alive < 100) {
        pthread_t thread;
        if (pthread_create(&thread, &small, rest, NULL)) break;
        alive++;
    }
    if (alive > 8) breach("%d threads at one time under a limit of 8", alive);
    return 0;
}
