// run: --cpu-time 2
// expect: signalled
// check: signal == 24
// why: raises the signal of the CPU limit itself: the time says that no limit was passed
#include "../hostile.h"
int main(void) {
    raise(SIGXCPU);
    return 0;
}
