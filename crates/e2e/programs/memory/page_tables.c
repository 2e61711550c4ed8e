// run: --memory 64M
// expect: memory_limit
// bare: memory_limit|nonzero_exit|cpu_time_limit|wall_time_limit|ok
// why: reading one byte in every two MiB costs page tables only, which are in no resident set
#include "../hostile.h"
int main(void) {
    size_t size = 256 * GIB;
    volatile char *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) refused("mmap");
    for (size_t i = 0; i < size; i += 2 * MIB) (void)memory[i];
    return 0;
}
