// expect: ok|nonzero_exit|signalled
// why: other personalities: readable means executable, no limits on addresses, a foreign system
#include <sys/personality.h>
#include "../hostile.h"
int main(void) {
    personality(READ_IMPLIES_EXEC | ADDR_COMPAT_LAYOUT | MMAP_PAGE_ZERO | ADDR_LIMIT_3GB);
    void *low = mmap((void *)0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (low != MAP_FAILED) breach("page zero is mapped");
    return 0;
}
