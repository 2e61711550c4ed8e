// run: --processes 200 --cpu-time 0.5 --wall-time 4 --memory 128M
// expect: cpu_time_limit|wall_time_limit|memory_limit
// why: two hundred processes are forking at the moment when the run is ended
#include "../hostile.h"
int main(void) {
    for (;;) {
        if (fork() == 0) setsid();
        if (fork() == 0) _exit(0);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}
