// Odd-only bit sieve, small enough for the cache, repeated with growing limits.
#include <stdio.h>
#include <string.h>
#include <stdint.h>

#define LIMIT 2000000
static uint32_t bits[LIMIT / 64 + 2];

static int count_primes(int n) {
    memset(bits, 0, sizeof bits);
    int half = (n + 1) / 2;
    for (int i = 1; (2 * i + 1) * (2 * i + 1) <= n; i++) {
        if (bits[i >> 5] >> (i & 31) & 1) continue;
        int p = 2 * i + 1;
        for (int j = p * p / 2; j < half; j += p) bits[j >> 5] |= 1u << (j & 31);
    }
    int c = 1;
    for (int i = 1; i < half; i++) c += !(bits[i >> 5] >> (i & 31) & 1);
    return c;
}

int main(void) {
    uint64_t h = 0;
    for (int r = 0; r < 360; r++) h = h * 1000003 + count_primes(LIMIT - 1 - 3000 * r);
    printf("%llu\n", (unsigned long long)h);
    return 0;
}
