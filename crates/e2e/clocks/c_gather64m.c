// Independent random reads from a 64 MB array.
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

int main(void) {
    const uint32_t n = 1 << 24;
    uint32_t *a = malloc(sizeof(uint32_t) * n);
    for (uint32_t i = 0; i < n; i++) a[i] = i * 2654435761u;
    uint64_t s = 42, sum = 0;
    for (int i = 0; i < 60000000; i++) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += a[s >> 40];
    }
    printf("%llu\n", (unsigned long long)sum);
    free(a);
    return 0;
}
