// run: --wall-time 6
// expect: ok
// check: time.wall_ns <= 0.5*wall-time
// why: an orphan that has stopped itself
#include "../hostile.h"
int main(void) {
    pid_t child = spawn();
    if (child == 0)
        for (;;) raise(SIGSTOP);
    waitpid(child, NULL, WUNTRACED);
    return 0;
}
