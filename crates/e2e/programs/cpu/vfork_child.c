// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: a vfork child burns; its parent is held in the kernel
#include "../hostile.h"
int main(void) {
    if (vfork() == 0)
        for (;;) __asm__ volatile("");
    return 0;
}
