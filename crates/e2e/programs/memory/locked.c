// run: --memory 64M
// expect: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: locked memory cannot be reclaimed from it
#include "../hostile.h"
int main(void) {
    mlockall(MCL_CURRENT | MCL_FUTURE);
    touch(map(GIB, MAP_PRIVATE | MAP_ANONYMOUS), GIB);
    return 0;
}
