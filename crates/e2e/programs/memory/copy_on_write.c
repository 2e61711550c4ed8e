// run: --memory 64M --processes 8
// expect: memory_limit
// needs: memory_group
// check: memory_peak_bytes <= 68000000
// why: four children each rewrite the 30 MiB they share with their parent
#include "../hostile.h"
int main(void) {
    char *memory = map(30 * MIB, MAP_PRIVATE | MAP_ANONYMOUS);
    touch(memory, 30 * MIB);
    for (int i = 0; i < 4; i++)
        if (spawn() == 0) {
            touch(memory, 30 * MIB);
            sleep_for_ever();
        }
    sleep_for_ever();
}
