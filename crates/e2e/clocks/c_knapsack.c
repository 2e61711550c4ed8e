// 0/1 knapsack with a one-dimensional table.
#include <stdio.h>
#include <stdint.h>

#define CAP 200000
#define ITEMS 6500
static int dp[CAP + 1];

int main(void) {
    uint32_t s = 12345;
    for (int i = 0; i < ITEMS; i++) {
        s = s * 1664525u + 1013904223u;
        int w = 50 + (s >> 8) % 3000;
        s = s * 1664525u + 1013904223u;
        int v = 1 + (s >> 8) % 1000;
        for (int c = CAP; c >= w; c--)
            if (dp[c - w] + v > dp[c]) dp[c] = dp[c - w] + v;
    }
    long long sum = 0;
    for (int c = 0; c <= CAP; c++) sum += dp[c];
    printf("%d %lld\n", dp[CAP], sum);
    return 0;
}
