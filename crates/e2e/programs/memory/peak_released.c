// run: --memory 64M
// expect: ok
// check: memory_peak_bytes >= 41418752
// why: control: the peak counts, not what is left at the end; the kernel charges pages in batches of 64 on each CPU, some of them before the run (memcontrol.c, MEMCG_CHARGE_BATCH)
#include "../hostile.h"
int main(void) {
    void *memory = map(40 * MIB, MAP_PRIVATE | MAP_ANONYMOUS);
    touch(memory, 40 * MIB);
    munmap(memory, 40 * MIB);
    return 0;
}
