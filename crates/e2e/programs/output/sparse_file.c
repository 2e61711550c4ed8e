// run: --output 1M
// expect: output_limit|nonzero_exit|ok
// check: output_bytes <= 2*output
// why: a file of one TiB without contents
#include "../hostile.h"
int main(void) {
    int fd = open("sparse", O_RDWR | O_CREAT, 0600);
    if (fd < 0) broken("open");
    signal(SIGXFSZ, SIG_IGN);
    if (ftruncate(fd, (off_t)1 << 40)) refused("ftruncate");
    breach("a file of one TiB");
}
