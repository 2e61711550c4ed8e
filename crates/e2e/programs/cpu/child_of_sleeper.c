// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: a child burns while its parent sleeps and never collects it
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) burn_for_ever();
    sleep_for_ever();
}
