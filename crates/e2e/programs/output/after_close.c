// run: --output 1M
// expect: output_limit|nonzero_exit
// check: output_bytes <= 2*output
// why: closes its streams, then floods what comes in their place
#include "../hostile.h"
int main(void) {
    close(0);
    close(1);
    close(2);
    if (open("flood", O_WRONLY | O_CREAT, 0600) != 0) _exit(67);
    if (dup2(0, 1) != 1 || dup2(0, 2) != 2) _exit(67);
    pour(1, 256 * MIB, 65536);
    _exit(66);
}
