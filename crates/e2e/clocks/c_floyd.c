// Floyd-Warshall all-pairs shortest paths.
#include <stdio.h>
#include <stdint.h>

#define N 820
static int d[N][N];

int main(void) {
    uint32_t s = 7;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            s = s * 1103515245u + 12345u;
            d[i][j] = i == j ? 0 : (s >> 16) % 10 == 0 ? 1 + (int)((s >> 8) % 5000) : 1000000000;
        }
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (d[i][k] + d[k][j] < d[i][j]) d[i][j] = d[i][k] + d[k][j];
    long long sum = 0;
    int far = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            sum += d[i][j];
            if (d[i][j] > far) far = d[i][j];
        }
    printf("%lld %d\n", sum, far);
    return 0;
}
