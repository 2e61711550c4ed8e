// run: --memory 64M
// expect: memory_limit|signalled
// check: memory_peak_bytes <= 68000000
// why: recursion without end, on a stack that follows the memory limit
#include "../hostile.h"
static int deeper(volatile int *above) {
    volatile int here[256];
    here[0] = *above + 1;
    return deeper(here) + here[255 & here[0]];
}
int main(void) {
    volatile int start = 0;
    return deeper(&start);
}
