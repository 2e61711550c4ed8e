// run: --memory 64M
// expect: memory_limit
// bare: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: shared anonymous pages are files in memory and no part of any heap
#include "../hostile.h"
int main(void) {
    touch(map(GIB, MAP_SHARED | MAP_ANONYMOUS), GIB);
    return 0;
}
