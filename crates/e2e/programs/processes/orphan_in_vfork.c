// run: --wall-time 6
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: orphans held in the kernel by vfork
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        setsid();
        if (vfork() == 0)
            for (;;) pause();
        _exit(0);
    }
    nap(0.05);
    return 0;
}
