// run: --cpu-time 0.3
// expect: cpu_time_limit
// check: time.system_ns > 0
// why: the time goes into the kernel's page faults, not into user code
#include "../hostile.h"
int main(void) {
    for (;;) {
        void *memory = map(4 * MIB, MAP_PRIVATE | MAP_ANONYMOUS);
        touch(memory, 4 * MIB);
        munmap(memory, 4 * MIB);
    }
}
