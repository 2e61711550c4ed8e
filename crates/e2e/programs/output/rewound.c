// run: --output 1M
// expect: ok|output_limit|nonzero_exit
// check: output_bytes <= 2*output
// why: empties its own output before it gets too long, again and again
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 64; i++) {
        pour(1, 512 * KIB, 64 * KIB);
        if (ftruncate(1, 0)) return 0;
        lseek(1, 0, SEEK_SET);
    }
    return 0;
}
