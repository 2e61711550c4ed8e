// run: --wall-time 0.4
// expect: wall_time_limit
// why: waits for a file lock that its sleeping child holds
#include <sys/file.h>
#include "../hostile.h"
int main(void) {
    int ready[2];
    char byte;
    if (pipe(ready)) broken("pipe");
    if (spawn() == 0) {
        int fd = open("lock", O_RDWR | O_CREAT, 0600);
        flock(fd, LOCK_EX);
        if (write(ready[1], "x", 1) != 1) _exit(67);
        sleep_for_ever();
    }
    if (read(ready[0], &byte, 1) != 1) broken("read");
    int fd = open("lock", O_RDWR);
    if (fd < 0) broken("open of lock in the work directory");
    return flock(fd, LOCK_EX);
}
