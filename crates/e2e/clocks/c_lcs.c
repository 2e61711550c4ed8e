// Longest common subsequence of string pairs with the full 2-D table and walk back.
#include <stdio.h>
#include <stdint.h>

#define N 6000
static char a[N + 1], b[N + 1];
static short dp[N + 1][N + 1];
static uint32_t s = 2463534242u;

static void random_text(char *t) {
    for (int i = 1; i <= N; i++) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        t[i] = 'a' + s % 4;
    }
}

int main(void) {
    unsigned h = 0;
    random_text(a);
    for (int round = 0; round < 9; round++) {
        random_text(b);
        for (int i = 1; i <= N; i++)
            for (int j = 1; j <= N; j++) {
                if (a[i] == b[j]) dp[i][j] = dp[i - 1][j - 1] + 1;
                else dp[i][j] = dp[i - 1][j] > dp[i][j - 1] ? dp[i - 1][j] : dp[i][j - 1];
            }
        int i = N, j = N;
        while (i && j) {
            if (a[i] == b[j]) h = h * 31 + a[i], i--, j--;
            else if (dp[i - 1][j] >= dp[i][j - 1]) i--;
            else j--;
        }
        h = h * 1009 + dp[N][N];
    }
    printf("%u\n", h);
    return 0;
}
