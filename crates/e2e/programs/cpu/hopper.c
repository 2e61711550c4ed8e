// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: a process that burns a little, forks and ends, so that no process lives long enough to be seen
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        for (;;) {
            burn(0.005);
            if (spawn() != 0) _exit(0);
        }
    }
    sleep_for_ever();
}
