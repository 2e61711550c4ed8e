// Double matrix multiplication, i-k-j order: repeated squaring with rescaling.
#include <stdio.h>
#include <math.h>

#define N 500
static double a[N][N], b[N][N];

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = (i * i * 7 + j * 13 + i * j) % 101 / 50.0 - 1;
    for (int round = 0; round < 18; round++) {
        double top = 0;
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) b[i][j] = 0;
            for (int k = 0; k < N; k++) {
                double x = a[i][k];
                for (int j = 0; j < N; j++) b[i][j] += x * a[k][j];
            }
            for (int j = 0; j < N; j++)
                if (fabs(b[i][j]) > top) top = fabs(b[i][j]);
        }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) a[i][j] = b[i][j] / top;
    }
    double tr = 0, sum = 0;
    for (int i = 0; i < N; i++) {
        tr += a[i][i];
        for (int j = 0; j < N; j++) sum += a[i][j] * (j % 3 - 1);
    }
    printf("%.9f %.9f\n", tr, sum);
    return 0;
}
