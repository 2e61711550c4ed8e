// Modular powers: 64-bit multiply and remainder by a constant, and 128-bit remainder.
#include <stdio.h>
#include <stdint.h>

#define MOD 1000000007ULL
static const uint64_t BIG = 1000000000000000003ULL;

static uint64_t power(uint64_t b, uint64_t e) {
    uint64_t r = 1;
    for (b %= MOD; e; e >>= 1) {
        if (e & 1) r = r * b % MOD;
        b = b * b % MOD;
    }
    return r;
}

static uint64_t power_big(uint64_t b, uint64_t e, uint64_t m) {
    uint64_t r = 1;
    for (b %= m; e; e >>= 1) {
        if (e & 1) r = (unsigned __int128)r * b % m;
        b = (unsigned __int128)b * b % m;
    }
    return r;
}

int main(void) {
    uint64_t h = 0;
    for (uint64_t i = 1; i <= 3000000; i++) h = (h * 3 + power(i, MOD - 2)) % MOD;
    for (uint64_t i = 1; i <= 300000; i++) h ^= power_big(i * 977, BIG - 2 * i, BIG);
    printf("%llu\n", (unsigned long long)h);
    return 0;
}
