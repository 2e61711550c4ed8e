// Euclid's algorithm on pseudo-random 64-bit numbers (64-bit division).
#include <stdio.h>
#include <stdint.h>

static uint64_t state = 88172645463325252ULL;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

int main(void) {
    uint64_t sum = 0;
    int coprime = 0;
    for (int i = 0; i < 3000000; i++) {
        uint64_t a = next(), b = next();
        uint64_t g = gcd(a, b);
        sum += g;
        coprime += g == 1;
    }
    printf("%llu %d\n", (unsigned long long)sum, coprime);
    return 0;
}
