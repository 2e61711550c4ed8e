// Gravitational bodies on a symplectic Euler step (square root and division).
#include <stdio.h>
#include <math.h>

#define N 6
typedef struct { double p[3], v[3], m; } Body;
static Body body[N];

static void step(double dt) {
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) {
            double d[3], r2 = 0.01;
            for (int k = 0; k < 3; k++) {
                d[k] = body[i].p[k] - body[j].p[k];
                r2 += d[k] * d[k];
            }
            double f = dt / (r2 * sqrt(r2));
            for (int k = 0; k < 3; k++) {
                body[i].v[k] -= d[k] * body[j].m * f;
                body[j].v[k] += d[k] * body[i].m * f;
            }
        }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) body[i].p[k] += dt * body[i].v[k];
}

int main(void) {
    for (int i = 0; i < N; i++) {
        body[i].m = 1.0 / (i + 1);
        for (int k = 0; k < 3; k++) {
            body[i].p[k] = (i * 5 + k * 7) % 11 - 5;
            body[i].v[k] = ((i * 3 + k) % 5 - 2) * 0.1;
        }
    }
    for (int t = 0; t < 6000000; t++) step(0.0001);
    double e = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) e += 0.5 * body[i].m * body[i].v[k] * body[i].v[k];
    printf("%.9f %.9f\n", e, body[0].p[0]);
    return 0;
}
