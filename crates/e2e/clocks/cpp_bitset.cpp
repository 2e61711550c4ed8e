// Subset sums by shifted bitsets and transitive closure of a random graph.
#include <bitset>
#include <cstdint>
#include <cstdio>
using namespace std;

const int S = 500000, N = 3500;
static bitset<S + 1> reach;
static bitset<N> g[N];

int main() {
    uint32_t s = 6;
    auto rnd = [&](int k) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        return (int)(s % k);
    };
    reach[0] = 1;
    unsigned long long h = 0;
    for (int i = 0; i < 30000; i++) {
        reach |= reach << (200 + 2 * rnd(5000));
        if (i % 100 == 0) h = h * 31 + reach.count();
    }
    for (int i = 0; i < 2 * N; i++) g[rnd(N)][rnd(N)] = 1;
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            if (g[i][k]) g[i] |= g[k];
    long long closed = 0;
    for (int i = 0; i < N; i++) closed += g[i].count();
    printf("%llu %lld\n", h, closed);
}
