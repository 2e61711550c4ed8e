// run: --output 1M
// expect: output_limit|nonzero_exit
// check: output_bytes <= 2*output
// why: moves data from a pipe to its output inside the kernel
#include "../hostile.h"
int main(void) {
    static char block[65536];
    int ends[2];
    if (pipe(ends)) broken("pipe");
    for (int i = 0; i < 1024; i++) {
        if (write(ends[1], block, 32768) != 32768) broken("write");
        if (splice(ends[0], NULL, 1, NULL, 32768, 0) <= 0) refused("splice after %d KiB", 32 * i);
    }
    breach("32 MiB spliced");
}
