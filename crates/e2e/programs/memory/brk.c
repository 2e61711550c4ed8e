// run: --memory 64M
// expect: memory_limit
// bare: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: grows the data segment instead of mapping
#include "../hostile.h"
int main(void) {
    for (;;) {
        void *memory = sbrk(MIB);
        if (memory == (void *)-1) refused("sbrk");
        touch(memory, MIB);
    }
}
