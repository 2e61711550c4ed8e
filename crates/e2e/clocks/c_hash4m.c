// Open-addressing hash table: four million keys, insertions and lookups.
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

#define BITS 23
#define MASK ((1u << BITS) - 1)
typedef struct { uint64_t key; uint32_t count; } Slot;
static Slot *table;

static Slot *find(uint64_t key) {
    uint32_t i = key * 0x9E3779B97F4A7C15ULL >> (64 - BITS);
    while (table[i].key && table[i].key != key) i = (i + 1) & MASK;
    return &table[i];
}

int main(void) {
    table = calloc(MASK + 1, sizeof(Slot));
    uint64_t s = 5;
    for (int i = 0; i < 8000000; i++) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        Slot *e = find((s >> 40) % 4000000 + 1);
        e->key = (s >> 40) % 4000000 + 1;
        e->count++;
    }
    uint64_t h = 0, hits = 0;
    for (uint64_t k = 1; k <= 5000000; k++) {
        Slot *e = find(k * 7 % 5000011);
        if (e->key) {
            hits++;
            h = h * 31 + e->count;
        }
    }
    printf("%llu %llu\n", (unsigned long long)hits, (unsigned long long)h);
    free(table);
    return 0;
}
