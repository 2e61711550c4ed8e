// Grundy numbers of Kayles-like games with piles split in two, quadratic with a stamped mex table.
#include <stdio.h>

#define N 18500
static int g[N + 1];
static int seen[1024];

// A move takes t of the allowed amounts and may split the rest into two piles.
static unsigned long long play(const int *take, int kinds, int stamp) {
    unsigned long long h = 0;
    g[0] = 0;
    for (int n = 1; n <= N; n++) {
        int mark = stamp * (N + 1) + n;
        for (int k = 0; k < kinds; k++) {
            int rest = n - take[k];
            if (rest < 0) continue;
            for (int i = 0; i <= rest / 2; i++) seen[g[i] ^ g[rest - i]] = mark;
        }
        int m = 0;
        while (seen[m] == mark) m++;
        g[n] = m;
        h = h * 131 + m;
    }
    return h;
}

int main(void) {
    static const int games[4][3] = {{2}, {1, 2}, {2, 3}, {1, 3, 4}};
    static const int kinds[4] = {1, 2, 2, 3};
    unsigned long long h = 0;
    int cold = 0;
    for (int t = 0; t < 4; t++) {
        h = h * 1000003 + play(games[t], kinds[t], t);
        for (int n = 0; n <= N; n++) cold += g[n] == 0;
    }
    printf("%llu %d\n", h, cold);
    return 0;
}
