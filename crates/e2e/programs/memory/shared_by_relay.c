// run: --memory 64M --processes 8
// expect: memory_limit
// bare: memory_limit|nonzero_exit|cpu_time_limit|wall_time_limit|ok
// why: each child touches a part of a shared mapping and ends; the pages stay, no process has them in its peak
#include "../hostile.h"
int main(void) {
    char *memory = map(GIB, MAP_SHARED | MAP_ANONYMOUS);
    for (size_t part = 0; part < 64; part++) {
        if (spawn() == 0) {
            touch(memory + part * 16 * MIB, 16 * MIB);
            _exit(0);
        }
        int status;
        wait(&status);
        if (WIFSIGNALED(status)) refused("child ended by signal %d", WTERMSIG(status));
    }
    return 0;
}
