// run: --memory 64M
// expect: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: explicit huge pages are counted in another place; transparent ones come two MiB at a time
#include "../hostile.h"
int main(void) {
    void *memory = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (memory == MAP_FAILED) {
        memory = map(GIB, MAP_PRIVATE | MAP_ANONYMOUS);
        madvise(memory, GIB, MADV_HUGEPAGE);
    }
    touch(memory, GIB);
    return 0;
}
