// Integer matrix multiplication modulo 2^32, textbook i-j-k order, repeated.
#include <stdio.h>
#include <stdint.h>

#define N 600
static uint32_t a[N][N], b[N][N], c[N][N];

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i * 31 + j * 17 + 1;
            b[i][j] = (i ^ j) * 13 + 5;
        }
    uint32_t h = 0;
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                uint32_t t = 0;
                for (int k = 0; k < N; k++) t += a[i][k] * b[k][j];
                c[i][j] = t;
            }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                h = h * 31 + c[i][j];
                b[i][j] = c[i][j] ^ (i + j);
            }
    }
    printf("%u\n", h);
    return 0;
}
