// run: --output 1M
// expect: output_limit|nonzero_exit
// check: output_bytes <= 2*output
// why: floods one file in the work directory
#include "../hostile.h"
int main(void) {
    int fd = open("flood", O_WRONLY | O_CREAT, 0600);
    if (fd < 0) broken("open in the work directory");
    pour(fd, 256 * MIB, 65536);
    breach("256 MiB written");
}
