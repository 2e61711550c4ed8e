// run: --memory 32M --processes 32
// expect: memory_limit|nonzero_exit
// needs: memory_group
// check: memory_peak_bytes <= 36000000
// why: 65,000 mappings per process, never touched: their descriptions fill the kernel
#include "../hostile.h"
int main(void) {
    for (int child = 0; child < 16; child++) {
        if (spawn() != 0) continue;
        for (int i = 0;; i++)
            if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
        sleep_for_ever();
    }
    sleep_for_ever();
}
