// Sieve of Eratosthenes, one byte per number, up to 80 million.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const int n = 80000000;
    unsigned char *comp = calloc(n + 1, 1);
    for (int i = 2; (long long)i * i <= n; i++) {
        if (comp[i]) continue;
        for (int j = i * i; j <= n; j += i) comp[j] = 1;
    }
    int count = 0;
    long long sum = 0;
    for (int i = 2; i <= n; i++)
        if (!comp[i]) { count++; sum += i; }
    printf("%d %lld\n", count, sum);
    free(comp);
    return 0;
}
