// run: --cpu-time 0.3
// expect: cpu_time_limit
// bare: cpu_time_limit|wall_time_limit
// why: with SIGCHLD ignored the time of dead children is added to nobody's account
#include "../hostile.h"
int main(void) {
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        if (spawn() == 0) {
            burn(0.01);
            _exit(0);
        }
        wait(NULL);
    }
}
