// run: --memory 512M --stack 512M
// expect: ok
// why: stacks of threads are as large as the first one's, reserved and hardly used: no limit may count them as memory
#include "../hostile.h"
static void *work(void *nothing) {
    return nothing;
}
int main(void) {
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) refused("pthread_create");
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    return 0;
}
