// run: --processes 16 --wall-time 6
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: the main process exits while its children fork as fast as they can
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        for (;;) {
            if (fork() == 0) setsid();
            while (waitpid(-1, NULL, WNOHANG) > 0) {
            }
        }
    }
    nap(0.05);
    return 0;
}
