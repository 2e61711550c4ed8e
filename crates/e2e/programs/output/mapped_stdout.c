// run: --output 1M
// expect: ok|output_limit|nonzero_exit|signalled
// check: output_bytes <= 2*output
// why: opens its own output again through /proc and makes it longer without writing
#include "../hostile.h"
int main(void) {
    int fd = open("/proc/self/fd/1", O_RDWR);
    if (fd < 0) return 0;
    signal(SIGXFSZ, SIG_IGN);
    if (ftruncate(fd, 64 * MIB) == 0) breach("standard output made 64 MiB long");
    return 0;
}
