// run: --output 1M
// expect: output_limit|nonzero_exit
// check: output_bytes <= 2*output
// why: ignores SIGXFSZ and carries on with the error instead
#include "../hostile.h"
int main(void) {
    static char block[65536];
    size_t written = 0;
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 16384; i++) {
        ssize_t n = write(1, block, sizeof block);
        if (n > 0) written += (size_t)n;
    }
    if (written > 2 * MIB) breach("%zu bytes written", written);
    return 3;
}
