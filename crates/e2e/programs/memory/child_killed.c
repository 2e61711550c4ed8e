// run: --memory 64M
// expect: memory_limit
// bare: memory_limit|nonzero_exit
// why: the child dies of memory, the parent carries on and exits with 0
#include "../hostile.h"
int main(void) {
    if (spawn() == 0) {
        touch(map(GIB, MAP_PRIVATE | MAP_ANONYMOUS), GIB);
        _exit(0);
    }
    int status;
    wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) refused("memory of the child");
    return 0;
}
