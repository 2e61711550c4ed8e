// run: --memory 32M --processes 16
// expect: ok|memory_limit
// host: 64M
// bare_host: 768M
// why: mappings, their names, the trees they stand in and page tables, in several address spaces
#include <linux/prctl.h>
#include "../many.h"
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
static void make(int child) {
    char name[80];
    for (long i = 0; i < 65000; i++) {
        char *at = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_WRITE | PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) break;
        snprintf(name, sizeof name, "%060ld-%d", i, child);
        prctl(PR_SET_VMA, 0, at, 4096, name);
    }
    size_t apart = 2 * MIB;
    for (char *at = map(32 * GIB, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE), *end = at + 32 * GIB; at < end; at += apart) (void)*(volatile char *)at;
}
int main(void) { return many(8, 0.4, make); }
