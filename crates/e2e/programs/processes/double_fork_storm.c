// run: --processes 8 --cpu-time 0.4 --wall-time 4
// expect: cpu_time_limit|wall_time_limit
// why: grandchildren whose parents have ended belong to nobody the main process knows
#include "../hostile.h"
int main(void) {
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            if (fork() == 0) {
                setsid();
                nap(0.01);
            }
            _exit(0);
        }
        if (pid > 0) waitpid(pid, NULL, 0);
    }
}
