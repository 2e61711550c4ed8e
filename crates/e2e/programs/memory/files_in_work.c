// run: --memory 64M --output 256M
// expect: memory_limit|output_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: files in the work directory are memory; each stays below the file size limit
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "flood%d", i);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0) refused("open in the work directory");
        pour(fd, 10 * MIB, MIB);
        close(fd);
    }
    breach("one GiB of files in the work directory");
}
