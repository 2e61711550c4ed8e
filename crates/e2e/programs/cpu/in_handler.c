// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: burns inside a signal handler that never returns, on its own stack
#include "../hostile.h"
static void work(int s) {
    (void)s;
    burn_for_ever();
}
int main(void) {
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_handler = work, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    *(volatile int *)8 = 1;
}
