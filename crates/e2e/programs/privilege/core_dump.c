// run: --output 1M
// expect: signalled
// check: signal == 6
// check: output_bytes <= 1*output
// why: makes itself dumpable and crashes with 32 MiB of memory: no core file, and no core handler of the host
#include "../hostile.h"
int main(void) {
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &all) == 0) breach("core files can be allowed");
    prctl(PR_SET_DUMPABLE, 1);
    touch(map(32 * MIB, MAP_PRIVATE | MAP_ANONYMOUS), 32 * MIB);
    abort();
}
