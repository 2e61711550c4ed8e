// run: --memory 64M
// expect: memory_limit
// bare: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: touches one GiB
#include "../hostile.h"
int main(void) {
    touch(map(GIB, MAP_PRIVATE | MAP_ANONYMOUS), GIB);
    return 0;
}
