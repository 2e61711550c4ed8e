// run: --output 1M
// expect: output_limit
// check: output_bytes <= 2*output
// why: floods standard output
#include "../hostile.h"
int main(void) {
    pour(1, GIB, 65536);
    return 0;
}
