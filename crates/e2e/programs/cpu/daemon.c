// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: a daemon (double fork, own session) burns where no parent can be charged for it
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        if (spawn() == 0) burn_for_ever();
        _exit(0);
    }
    sleep_for_ever();
}
