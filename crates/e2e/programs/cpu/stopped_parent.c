// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: the main process stops itself while its child burns
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) burn_for_ever();
    for (;;) raise(SIGSTOP);
}
