// run: --memory 16M
// expect: memory_limit|nonzero_exit
// bare: ok|memory_limit|nonzero_exit
// args: 8200
// args: 8250
// args: 8300
// args: 8350
// args: 8400
// args: 8450
// args: 8500
// args: 8550
// args: 8600
// args: 8650
// args: 8700
// args: 8750
// args: 8800
// args: 8850
// args: 8900
// args: 8950
// args: 9000
// args: 9050
// args: 9100
// args: 9150
// args: 9200
// args: 9250
// args: 9300
// args: 9350
// args: 9400
// args: 9450
// args: 9500
// args: 9550
// args: 9600
// args: 9650
// args: 9700
// why: the memory is full, of what outlives the program, at the moment when the launcher looks at the run for the first time
#include <sys/xattr.h>
#include <time.h>
#include "../hostile.h"
static long micros(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}
int main(int argc, char **argv) {
    static char value[60000];
    long start = micros(), at = argc > 1 ? atol(argv[1]) : 0;
    for (int file = 0; file < 4096; file++) {
        char name[32];
        snprintf(name, sizeof name, "file%d", file);
        /* The rest is too little to take long. */
        if (file == 235) while (micros() - start < at) {}
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || fsetxattr(fd, "user.hoard", value, file < 235 ? sizeof value : sizeof value / 2, 0)) return 1;
        close(fd);
    }
    breach("120 MB of attributes");
}
