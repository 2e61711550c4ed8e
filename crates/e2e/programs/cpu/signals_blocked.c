// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: every signal that can be blocked or ignored is
#include "../hostile.h"
int main(void) {
    sigset_t all;
    sigfillset(&all);
    for (int s = 1; s < 65; s++) signal(s, SIG_IGN);
    sigprocmask(SIG_BLOCK, &all, NULL);
    burn_for_ever();
}
