// run: --memory 1M --processes 16
// expect: memory_limit
// bare: memory_limit|ok
// why: a limit below what the launcher itself needs, in a group that both share: the launcher must not be the one to go
#include "../hostile.h"
int main(void) {
    for (int child = 0; child < 12; child++)
        if (spawn() == 0) {
            touch(map(4 * MIB, MAP_PRIVATE | MAP_ANONYMOUS), 4 * MIB);
            sleep_for_ever();
        }
    nap(0.2);
    return 0;
}
