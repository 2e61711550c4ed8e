// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: burns past the limit in an orphan, then the main process exits with 0: the sum still counts
#include "../hostile.h"
int main(void) {
    int ready[2];
    char byte;
    if (pipe(ready)) broken("pipe");
    if (spawn() == 0) {
        if (spawn() == 0) {
            burn(0.5);
            if (write(ready[1], "x", 1) != 1) _exit(67);
            sleep_for_ever();
        }
        _exit(0);
    }
    wait(NULL);
    if (read(ready[0], &byte, 1) != 1) broken("read");
    return 0;
}
