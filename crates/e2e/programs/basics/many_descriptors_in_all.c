// run: --processes 64 --memory 64M --cpu-time 4 --wall-time 8
// expect: ok|memory_limit|nonzero_exit
// needs: memory_group
// check: memory_peak_bytes <= 68000000
// why: sixty processes open as many files as they may, and send more in flight through sockets
#include "../hostile.h"
int main(void) {
    for (int child = 0; child < 60; child++) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0) {
            while (open("/dev/null", O_RDONLY) >= 0) {
            }
            nap(0.2);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
