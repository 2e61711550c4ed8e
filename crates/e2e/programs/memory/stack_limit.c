// run: --memory 64M --stack 1M
// expect: signalled
// check: signal == 11
// check: memory_peak_bytes <= 0.5*memory
// why: a stack limit below the memory limit is a fault of its own
#include "../hostile.h"
static int deeper(int left) {
    volatile char here[4096];
    here[0] = (char)left;
    return left == 0 ? 0 : deeper(left - 1) + here[0];
}
int main(void) {
    return deeper(4000) & 0;
}
