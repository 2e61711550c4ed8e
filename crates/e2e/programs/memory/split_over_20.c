// run: --memory 256M --processes 32
// expect: memory_limit
// check: memory_peak_bytes >= 262144000
// check: memory_peak_bytes <= 268959744
// needs: memory_group
// why: one GiB split over twenty processes, each far below the limit
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 20; i++)
        if (spawn() == 0) {
            touch(map(GIB / 20, MAP_PRIVATE | MAP_ANONYMOUS), GIB / 20);
            sleep_for_ever();
        }
    sleep_for_ever();
}
