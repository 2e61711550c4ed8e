// run: --memory 64M
// expect: ok
// check: memory_peak_bytes >= 41943040
// why: control: the peak counts, not what is left at the end
#include "../hostile.h"
int main(void) {
    void *memory = map(40 * MIB, MAP_PRIVATE | MAP_ANONYMOUS);
    touch(memory, 40 * MIB);
    munmap(memory, 40 * MIB);
    return 0;
}
