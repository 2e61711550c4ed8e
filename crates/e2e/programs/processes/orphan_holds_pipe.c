// run: --wall-time 6
// stdio: pipe
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: the same where the output is a pipe: its end must not be waited for
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        sleep_for_ever();
    }
    return 0;
}
