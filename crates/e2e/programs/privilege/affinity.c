// run: --cpu 0
// needs: cpus=2 sandbox
// expect: ok
// why: leaves the CPU it was bound to for one that is somebody else's; in a virtual machine its CPUs have other numbers
#include "../hostile.h"
int main(void) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 1; i < 64; i++) CPU_SET(i, &all);
    sched_setaffinity(0, sizeof all, &all);
    for (int i = 0; i < 20; i++) {
        burn(0.005);
        int cpu = sched_getcpu();
        if (cpu != 0) breach("runs on CPU %d, was bound to CPU 0", cpu);
        sched_yield();
    }
    return 0;
}
