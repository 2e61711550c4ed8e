// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: SIGXCPU is caught, and the handler exits with 0 as if nothing had been passed
#include "../hostile.h"
static void calm(int s) {
    (void)s;
    _exit(0);
}
int main(void) {
    signal(SIGXCPU, calm);
    signal(SIGPROF, calm);
    signal(SIGVTALRM, calm);
    signal(SIGALRM, calm);
    signal(SIGTERM, calm);
    burn_for_ever();
}
