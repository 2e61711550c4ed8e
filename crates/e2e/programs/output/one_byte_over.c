// run: --output 64K
// expect: output_limit
// why: one byte more than the limit, in the very last write
#include "../hostile.h"
int main(void) {
    pour(1, 64 * KIB, 4096);
    if (write(1, "x", 1) != 1) refused("write");
    return 0;
}
