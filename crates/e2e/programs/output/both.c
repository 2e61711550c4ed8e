// run: --output 1M
// expect: output_limit
// check: output_bytes <= 3*output
// why: the limit is on the sum: seven tenths into each
#include "../hostile.h"
int main(void) {
    pour(1, 700 * KIB, 1024);
    pour(2, 700 * KIB, 1024);
    return 0;
}
