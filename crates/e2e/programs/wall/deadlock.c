// run: --wall-time 0.4
// expect: wall_time_limit
// why: a mutex locked twice: waits on a futex for ever
#include "../hostile.h"
int main(void) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    return 0;
}
