// run: --cpu-time 0.3
// expect: cpu_time_limit
// check: time.cpu_ns <= 1.5*cpu-time
// why: an endless row of children, each far below the limit when it ends
#include "../hostile.h"
int main(void) {
    for (;;) {
        if (spawn() == 0) {
            burn(0.01);
            _exit(0);
        }
        wait(NULL);
    }
}
