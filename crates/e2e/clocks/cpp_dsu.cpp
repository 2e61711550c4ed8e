// Union-find with path halving and union by size, restarted several times.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>
using namespace std;

struct DSU {
    vector<int> p, sz;
    DSU(int n) : p(n), sz(n, 1) { iota(p.begin(), p.end(), 0); }
    int find(int x) {
        while (p[x] != x) x = p[x] = p[p[x]];
        return x;
    }
    bool unite(int a, int b) {
        a = find(a);
        b = find(b);
        if (a == b) return false;
        if (sz[a] < sz[b]) swap(a, b);
        p[b] = a;
        sz[a] += sz[b];
        return true;
    }
};

int main() {
    const int n = 1000000;
    uint64_t s = 15;
    unsigned long long h = 0;
    for (int round = 0; round < 16; round++) {
        DSU d(n);
        int parts = n;
        for (int i = 0; i < 1500000; i++) {
            s = s * 6364136223846793005ULL + 1442695040888963407ULL;
            parts -= d.unite((s >> 40) % n, (s >> 20) % n);
        }
        h = h * 1000003 + parts * 7ULL + d.sz[d.find(0)];
    }
    printf("%llu\n", h);
}
