// run: --output 1M
// expect: output_limit|nonzero_exit
// check: output_bytes <= 4*output
// why: many files, each far below the limit of one
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 4096; i++) {
        char name[32];
        snprintf(name, sizeof name, "part%d", i);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0) refused("open of %s", name);
        pour(fd, 64 * KIB, 64 * KIB);
        close(fd);
    }
    breach("256 MiB in small files");
}
