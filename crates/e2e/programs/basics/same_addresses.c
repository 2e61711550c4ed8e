// args: first
// args: second
// expect: ok
// why: control: addresses do not wander from run to run: layout is switched off, since it changes time
#include "../hostile.h"
int main(void) {
    int flags = 0;
    FILE *file = fopen("/proc/self/personality", "r");
    if (file && fscanf(file, "%x", &flags) == 1 && !(flags & 0x0040000)) breach("addresses are random (personality %x)", flags);
    return 0;
}
