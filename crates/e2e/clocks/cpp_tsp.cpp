// Travelling salesman by dynamic programming over subsets, closed tours and bottleneck tours.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
using namespace std;

int main() {
    const int n = 19;
    uint32_t s = 5;
    auto rnd = [&](uint32_t k) { s = s * 1664525 + 1013904223; return int((s >> 10) % k); };
    unsigned long long h = 0;
    for (int round = 0; round < 3; round++) {
        int x[n], y[n], d[n][n];
        for (int i = 0; i < n; i++) x[i] = rnd(10000), y[i] = rnd(10000);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) d[i][j] = abs(x[i] - x[j]) + abs(y[i] - y[j]);
        const int m = n - 1, inf = 1 << 30;
        vector<int> best((1 << m) * m, inf);
        for (int i = 0; i < m; i++) best[(1 << i) * m + i] = d[m][i];
        for (int set = 1; set < 1 << m; set++)
            for (int i = 0; i < m; i++) {
                int now = best[set * m + i];
                if (now == inf) continue;
                for (int rest = ~set & ((1 << m) - 1); rest; rest &= rest - 1) {
                    int j = __builtin_ctz(rest);
                    int& to = best[(set | 1 << j) * m + j];
                    int cost = round == 2 ? max(now, d[i][j]) : now + d[i][j];
                    if (cost < to) to = cost;
                }
            }
        int tour = inf;
        for (int i = 0; i < m; i++) tour = min(tour, best[((1 << m) - 1) * m + i] + d[i][m]);
        h = h * 1000003 + tour;
    }
    printf("%llu\n", h);
}
