// run: --processes 8
// expect: ok
// why: whatever way the limit is kept, no more than the limit
#include "../hostile.h"
int main(void) {
    int alive = 1;
    while (alive < 100) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0) sleep_for_ever();
        alive++;
    }
    if (alive > 8) breach("%d processes at one time under a limit of 8", alive);
    return 0;
}
