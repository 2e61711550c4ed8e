// run: --wall-time 6
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: an orphan outlives the main process and keeps its output open: the result comes at once all the same
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        for (int s = 1; s < 65; s++) signal(s, SIG_IGN);
        sleep_for_ever();
    }
    return 0;
}
