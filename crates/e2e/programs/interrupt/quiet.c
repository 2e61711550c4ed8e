// run: --cpu-time 60 --wall-time 60
// expect: wall_time_limit
// why: one process that sleeps when the judge is interrupted
#include "../hostile.h"
int main(void) {
    if (write(1, "started\n", 8) != 8) broken("write");
    sleep_for_ever();
}
