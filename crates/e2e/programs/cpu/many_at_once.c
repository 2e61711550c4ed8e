// run: --cpu-time 0.4 --processes 24
// expect: cpu_time_limit
// check: time.cpu_ns <= 1.5*cpu-time
// why: twenty processes share the time, none comes near the limit
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 20; i++)
        if (spawn() == 0) burn_for_ever();
    sleep_for_ever();
}
