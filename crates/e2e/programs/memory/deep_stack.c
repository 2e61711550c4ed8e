// run: --memory 64M
// expect: ok
// check: memory_peak_bytes >= 33554432
// why: control: 40 MiB of stack are no fault under a memory limit of 64 MiB and no stack limit
#include "../hostile.h"
static int deeper(int left) {
    volatile char here[4096];
    here[0] = (char)left;
    return left == 0 ? 0 : deeper(left - 1) + here[0] - (char)left;
}
int main(void) {
    return deeper(10000);
}
