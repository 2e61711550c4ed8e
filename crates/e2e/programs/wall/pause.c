// run: --wall-time 0.4
// expect: wall_time_limit
// why: waits for a signal, with every handler set to carry on
#include "../hostile.h"
static void again(int s) {
    (void)s;
}
int main(void) {
    for (int s = 1; s < 65; s++) signal(s, again);
    sleep_for_ever();
}
