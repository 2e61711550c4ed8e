// run: --output 1M
// expect: output_limit|nonzero_exit
// check: output_bytes <= 2*output
// why: takes the space without writing
#include "../hostile.h"
int main(void) {
    int fd = open("taken", O_RDWR | O_CREAT, 0600);
    if (fd < 0) broken("open");
    if (posix_fallocate(fd, 0, 64 * MIB)) refused("fallocate");
    breach("64 MiB taken");
}
