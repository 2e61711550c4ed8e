// Lazy segment tree: range add, range maximum.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>
using namespace std;

struct SegTree {
    int n;
    vector<long long> mx, add;
    SegTree(int n) : n(n), mx(4 * n), add(4 * n) {}
    void update(int o, int l, int r, int a, int b, int v) {
        if (a <= l && r <= b) {
            mx[o] += v;
            add[o] += v;
            return;
        }
        int m = (l + r) / 2;
        if (a <= m) update(2 * o, l, m, a, b, v);
        if (b > m) update(2 * o + 1, m + 1, r, a, b, v);
        mx[o] = max(mx[2 * o], mx[2 * o + 1]) + add[o];
    }
    long long query(int o, int l, int r, int a, int b) {
        if (a <= l && r <= b) return mx[o];
        int m = (l + r) / 2;
        long long best = -4e18;
        if (a <= m) best = query(2 * o, l, m, a, b);
        if (b > m) best = max(best, query(2 * o + 1, m + 1, r, a, b));
        return best + add[o];
    }
};

int main() {
    const int n = 200000;
    SegTree t(n);
    uint32_t s = 4;
    auto rnd = [&](int k) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        return (int)(s % k);
    };
    unsigned long long h = 0;
    for (int i = 0; i < 1800000; i++) {
        int a = rnd(n), b = rnd(n);
        if (a > b) swap(a, b);
        if (i % 2) h = h * 31 + t.query(1, 0, n - 1, a, b);
        else t.update(1, 0, n - 1, a, b, rnd(2001) - 1000);
    }
    printf("%llu\n", h);
}
