// A SHA-256-shaped mixing function (home-made constants) over many blocks.
#include <stdio.h>
#include <stdint.h>

static uint32_t K[64], st[8];

static uint32_t ror(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void block(uint32_t *w) {
    for (int i = 16; i < 64; i++) {
        uint32_t p = ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t q = ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + p + w[i - 7] + q;
    }
    uint32_t a = st[0], b = st[1], c = st[2], d = st[3];
    uint32_t e = st[4], f = st[5], g = st[6], h = st[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
        uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1;
        d = c; c = b; b = a; a = t1 + t2;
    }
    st[0] += a; st[1] += b; st[2] += c; st[3] += d;
    st[4] += e; st[5] += f; st[6] += g; st[7] += h;
}

int main(void) {
    uint32_t x = 1, w[64];
    for (int i = 0; i < 64; i++) K[i] = x = x * 1664525u + 1013904223u;
    for (int i = 0; i < 8; i++) st[i] = x = x * 1664525u + 1013904223u;
    for (int n = 0; n < 2000000; n++) {
        for (int i = 0; i < 16; i++) w[i] = n * 16 + i;
        block(w);
    }
    for (int i = 0; i < 8; i++) printf("%08x", st[i]);
    puts("");
    return 0;
}
