// run: --memory 32M --processes 16
// expect: memory_limit
// needs: memory_group
// check: memory_peak_bytes <= 36000000
// why: data left in pipes is kernel memory, in no process
#include "../hostile.h"
int main(void) {
    static char block[65536];
    for (int child = 0; child < 12; child++) {
        if (spawn() != 0) continue;
        for (;;) {
            int ends[2];
            if (pipe2(ends, O_NONBLOCK)) sleep_for_ever();
            while (write(ends[1], block, sizeof block) > 0) {
            }
        }
    }
    sleep_for_ever();
}
