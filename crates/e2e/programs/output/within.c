// run: --output 1M
// expect: ok
// check: output_bytes == 943718
// why: control: nine tenths of the limit are no fault and are counted to the byte
#include "../hostile.h"
int main(void) {
    pour(1, 943718, 1);
    return 0;
}
