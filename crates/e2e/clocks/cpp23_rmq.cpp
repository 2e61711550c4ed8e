// Sparse tables with a two-dimensional subscript (C++23): range minima and lowest common ancestors.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <ranges>
#include <vector>
using namespace std;

template <class T> struct Table {
    size_t rows, cols;
    vector<T> cell;
    Table(size_t r, size_t c) : rows(r), cols(c), cell(r * c) {}
    T& operator[](size_t r, size_t c) { return cell[r * cols + c]; }
};

struct Rmq {
    Table<int> t;
    explicit Rmq(const vector<int>& a) : t(bit_width(a.size()), a.size()) {
        ranges::copy(a, t.cell.begin());
        for (size_t k = 1; k < t.rows; k++)
            for (size_t i = 0; i + (1uz << k) <= a.size(); i++) t[k, i] = min(t[k - 1, i], t[k - 1, i + (1uz << (k - 1))]);
    }
    int query(size_t a, size_t b) {
        size_t k = bit_width(b - a + 1) - 1;
        return min(t[k, a], t[k, b + 1 - (1uz << k)]);
    }
};

int main() {
    const int n = 400000, q = 2200000;
    uint64_t s = 21;
    auto rnd = [&](uint32_t k) { s = s * 6364136223846793005ULL + 1442695040888963407ULL; return uint32_t(s >> 34) % k; };
    vector<int> depth(n), a(n);
    Table<int> up(19, n);
    for (int v : views::iota(1, n)) {
        up[0, v] = v - 1 - rnd(min(v, 1000));
        depth[v] = depth[up[0, v]] + 1;
        for (size_t k = 1; k < up.rows; k++) up[k, v] = up[k - 1, up[k - 1, v]];
    }
    auto lca = [&](int v, int w) -> optional<int> {
        if (v == w) return nullopt;
        if (depth[v] < depth[w]) swap(v, w);
        for (int k = 0, diff = depth[v] - depth[w]; diff >> k; k++)
            if (diff >> k & 1) v = up[k, v];
        if (v == w) return v;
        for (int k = up.rows; k--;)
            if (up[k, v] != up[k, w]) v = up[k, v], w = up[k, w];
        return up[0, v];
    };
    unsigned long long h = 0;
    for (int i = 0; i < q / 4; i++) h = h * 31 + lca(rnd(n), rnd(n)).transform([](int v) { return v + 1; }).value_or(0);
    for (auto& x : a) x = rnd(1000000000);
    Rmq rmq(a);
    for (int i = 0; i < q; i++) {
        auto [l, r] = minmax({rnd(n), rnd(n)});
        h = h * 31 + rmq.query(l, r);
    }
    printf("%llu\n", h);
}
