// run: --memory 64M
// expect: ok
// check: memory_peak_bytes >= 50331648
// check: memory_peak_bytes <= 1*memory
// why: control: 48 MiB of 64 are no fault, and are seen in the peak
#include "../hostile.h"
int main(void) {
    touch(map(48 * MIB, MAP_PRIVATE | MAP_ANONYMOUS), 48 * MIB);
    return 0;
}
