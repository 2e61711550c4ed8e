// run: --memory 64M --output 256M
// expect: memory_limit|output_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: files that are open but have no name any more are in no listing
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 100; i++) {
        int fd = open("gone", O_WRONLY | O_CREAT, 0600);
        if (fd < 0) refused("open in the work directory");
        unlink("gone");
        pour(fd, 10 * MIB, MIB);
    }
    breach("one GiB of nameless files");
}
