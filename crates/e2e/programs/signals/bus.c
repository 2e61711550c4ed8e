// expect: signalled
// check: signal == 7
// why: memory mapped behind the end of a file
#include "../hostile.h"
int main(void) {
    int fd = open("short", O_RDWR | O_CREAT, 0600);
    if (fd < 0) broken("open");
    volatile char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) broken("mmap");
    return memory[0];
}
