// run: --processes 8
// expect: ok
// needs: root
// why: a limit of eight allows eight at one time, the first included: neither fewer nor more
#include "../hostile.h"
int main(void) {
    int alive = 1;
    while (alive < 100) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0) sleep_for_ever();
        alive++;
    }
    if (alive != 8) breach("%d processes at one time under a limit of 8", alive);
    return 0;
}
