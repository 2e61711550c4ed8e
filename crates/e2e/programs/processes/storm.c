// run: --processes 8 --cpu-time 0.4 --wall-time 4
// expect: cpu_time_limit|wall_time_limit
// why: every process forks for ever
#include "../hostile.h"
int main(void) {
    for (;;) fork();
}
