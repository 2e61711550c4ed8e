// run: --memory 64M --cpu-time 4 --wall-time 8
// expect: memory_limit
// bare: memory_limit|cpu_time_limit|wall_time_limit|nonzero_exit
// check: time.wall_ns <= 0.8*wall-time
// why: sends one child after the other into the memory limit; the first death ends the run
#include "../hostile.h"
int main(void) {
    for (;;) {
        if (spawn() == 0) {
            touch(map(GIB, MAP_PRIVATE | MAP_ANONYMOUS), GIB);
            _exit(0);
        }
        wait(NULL);
    }
}
