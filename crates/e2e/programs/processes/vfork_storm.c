// run: --processes 8 --cpu-time 0.4 --wall-time 2
// expect: cpu_time_limit|wall_time_limit
// why: a chain of vfork children, each holding its parent in the kernel
#include "../hostile.h"
int main(void) {
    for (;;) vfork();
}
