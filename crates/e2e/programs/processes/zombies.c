// run: --processes 8
// expect: ok
// why: children that have ended but are not collected still take a place each
#include "../hostile.h"
int main(void) {
    int made = 0;
    while (made < 100) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0) _exit(0);
        made++;
    }
    if (made > 8) breach("%d zombies under a limit of 8", made);
    return 0;
}
