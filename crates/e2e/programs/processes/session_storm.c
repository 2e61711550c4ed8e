// run: --processes 8 --cpu-time 0.4 --wall-time 4
// expect: cpu_time_limit|wall_time_limit
// why: every process forks and leaves its session, so that no group or session holds them all
#include "../hostile.h"
int main(void) {
    for (;;) {
        if (fork() == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
        }
    }
}
