// run: --output 1M
// expect: output_limit
// check: output_bytes <= 2*output
// why: a child floods the output and is ended for it, the main process exits with 0 as if nothing had been
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        pour(1, 32 * MIB, 4096);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
