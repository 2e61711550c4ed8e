// expect: ok
// why: system calls by the 32-bit gate have other numbers: a filter that forgets them filters nothing
#include "../hostile.h"
static long gate(long number) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(0), "c"(0), "d"(0) : "memory", "r8", "r9", "r10", "r11");
    if ((int)result < 0) {
        errno = -(int)result;
        return -1;
    }
    return (int)result;
}
int main(void) {
    MUST_FAIL("getpid by int 0x80", gate(20));
    MUST_FAIL("getuid by int 0x80", gate(199));
    return 0;
}
