// run: --memory 64M --output 256M
// expect: memory_limit|output_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: files in /tmp are memory
#include "../hostile.h"
int main(void) {
    int fd = open("/tmp/flood", O_WRONLY | O_CREAT, 0600);
    if (fd < 0) refused("open in /tmp");
    pour(fd, GIB, MIB);
    breach("one GiB of files in /tmp");
}
