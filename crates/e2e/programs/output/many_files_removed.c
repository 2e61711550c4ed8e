// run: --output 1M
// expect: ok|output_limit|nonzero_exit
// why: files written and removed again, far more in sum than the limit: must stay bounded in space, at any time
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 256; i++) {
        int fd = open("part", O_WRONLY | O_CREAT, 0600);
        if (fd < 0) refused("open");
        pour(fd, 512 * KIB, 64 * KIB);
        close(fd);
        unlink("part");
    }
    return 0;
}
