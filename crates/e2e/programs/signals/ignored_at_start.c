// expect: ok
// why: control: no signal is blocked or ignored at the start, whatever the caller had
#include "../hostile.h"
int main(void) {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int s = 1; s < 32; s++) {
        struct sigaction action;
        if (sigismember(&blocked, s) == 1) breach("signal %d is blocked at the start", s);
        if (sigaction(s, NULL, &action) == 0 && action.sa_handler != SIG_DFL) breach("signal %d is ignored at the start", s);
    }
    return 0;
}
