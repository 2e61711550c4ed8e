// run: --memory 32M --processes 16
// expect: memory_limit|ok
// needs: memory_group
// check: memory_peak_bytes <= 36000000
// why: data left in socket buffers is kernel memory, in no process
#include "../hostile.h"
int main(void) {
    static char block[65536];
    for (int child = 0; child < 12; child++) {
        if (spawn() != 0) continue;
        for (;;) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) _exit(0);
            while (write(ends[1], block, sizeof block) > 0) {
            }
        }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
