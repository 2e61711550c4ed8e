// run: --memory 64M --processes 32 --wall-time 2
// expect: memory_limit
// bare: memory_limit|nonzero_exit|wall_time_limit|signalled
// why: the same split where no memory cgroup can be had: at least it ends and leaves nothing
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 20; i++)
        if (spawn() == 0) {
            touch(map(16 * MIB, MAP_PRIVATE | MAP_ANONYMOUS), 16 * MIB);
            sleep_for_ever();
        }
    sleep_for_ever();
}
