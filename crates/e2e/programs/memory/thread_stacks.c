// run: --memory 64M --processes 64
// expect: memory_limit
// bare: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: memory in the stacks of forty threads
#include "../hostile.h"
static void *work(void *nothing) {
    volatile char block[4 * MIB];
    (void)nothing;
    touch((void *)block, sizeof block);
    sleep_for_ever();
}
int main(void) {
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL)) refused("pthread_create");
    }
    sleep_for_ever();
}
