// run: --cpu-time 60 --wall-time 60 --processes 64
// expect: cpu_time_limit
// why: sixty-four processes in sessions of their own fork as fast as they can when the judge is interrupted
#include "../hostile.h"
int main(void) {
    for (int s = 1; s < 65; s++) signal(s, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    if (write(1, "started\n", 8) != 8) broken("write");
    for (;;) {
        if (fork() == 0) setsid();
        if (fork() == 0) _exit(0);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}
