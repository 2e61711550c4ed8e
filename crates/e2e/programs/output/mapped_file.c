// run: --output 1M
// expect: output_limit|nonzero_exit|signalled|memory_limit
// check: output_bytes <= 2*output
// why: writes through a mapping, which no file size limit sees, in many files
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 128; i++) {
        char name[32];
        snprintf(name, sizeof name, "mapped%d", i);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        if (fd < 0) refused("open");
        if (ftruncate(fd, 512 * KIB)) refused("ftruncate");
        void *memory = mmap(NULL, 512 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) refused("mmap");
        touch(memory, 512 * KIB);
        munmap(memory, 512 * KIB);
        close(fd);
    }
    breach("64 MiB through mappings");
}
