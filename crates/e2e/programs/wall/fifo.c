// run: --wall-time 0.4
// expect: wall_time_limit
// why: opens a named pipe to which nobody will come
#include "../hostile.h"
int main(void) {
    if (mkfifo("fifo", 0600)) broken("mkfifo in the work directory");
    return open("fifo", O_RDONLY);
}
