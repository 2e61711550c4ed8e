// run: --memory 64M --output 256M
// expect: memory_limit|output_limit|nonzero_exit
// bare: memory_limit
// why: files that live in no file system at all
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 100; i++) {
        int fd = (int)syscall(SYS_memfd_create, "flood", 0);
        if (fd < 0) refused("memfd_create");
        pour(fd, 10 * MIB, MIB);
    }
    breach("one GiB in memory files");
}
