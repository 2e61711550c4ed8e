// Bubble sort of a small random array, compiled without optimisation.
#include <stdio.h>
#include <stdint.h>

#define N 25000
static int a[N];

int main(void) {
    uint32_t s = 11;
    for (int i = 0; i < N; i++) {
        s = s * 1664525u + 1013904223u;
        a[i] = (s >> 8) % 1000000;
    }
    long long swaps = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j + 1 < N - i; j++)
            if (a[j] > a[j + 1]) {
                int t = a[j];
                a[j] = a[j + 1];
                a[j + 1] = t;
                swaps++;
            }
    printf("%lld %d %d %d\n", swaps, a[0], a[N / 2], a[N - 1]);
    return 0;
}
