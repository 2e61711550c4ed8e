// run: --memory 64M
// expect: ok
// needs: memory_group
// check: memory_peak_bytes <= 0.25*memory
// why: control: 16 GiB reserved but never touched use no memory (as Java, Go and Haskell do)
#include "../hostile.h"
int main(void) {
    map(16 * GIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    return 0;
}
