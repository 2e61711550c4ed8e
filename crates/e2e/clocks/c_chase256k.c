// Following a random cyclic permutation held in 256 KB.
#include <stdio.h>
#include <stdint.h>

#define N 65536
static uint32_t next[N];

int main(void) {
    uint32_t s = 99;
    for (uint32_t i = 0; i < N; i++) next[i] = i;
    for (uint32_t i = N - 1; i > 0; i--) {
        s = s * 1664525u + 1013904223u;
        uint32_t j = (s >> 4) % i, t = next[i];
        next[i] = next[j];
        next[j] = t;
    }
    uint32_t p = 0;
    uint64_t h = 0;
    for (int i = 0; i < 100000000; i++) {
        p = next[p];
        h += p ^ i;
    }
    printf("%u %llu\n", p, (unsigned long long)h);
    return 0;
}
