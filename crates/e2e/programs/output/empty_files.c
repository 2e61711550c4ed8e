// run: --memory 64M --cpu-time 10 --wall-time 20
// expect: ok|memory_limit|output_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: a million empty files: no bytes, but names and inodes that are kernel memory
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 1000000; i++) {
        char name[32];
        snprintf(name, sizeof name, "empty%d", i);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0) return 0;
        close(fd);
    }
    breach("a million files");
}
