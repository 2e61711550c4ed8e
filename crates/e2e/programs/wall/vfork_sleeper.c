// run: --wall-time 0.4
// expect: wall_time_limit
// why: a parent held in vfork cannot be woken by anything but its death
#include "../hostile.h"
int main(void) {
    if (vfork() == 0)
        for (;;) pause();
    return 0;
}
