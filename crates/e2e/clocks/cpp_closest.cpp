// Closest pairs of points in the plane by divide and conquer, and the perimeter of a greedy chain.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>
using namespace std;

struct P { double x, y; };
static vector<P> p, strip, merged;
static double best;

static void check(const P& a, const P& b) { best = min(best, hypot(a.x - b.x, a.y - b.y)); }

static void solve(int l, int r) {
    auto by_y = [](const P& a, const P& b) { return a.y < b.y; };
    if (r - l <= 3) {
        for (int i = l; i < r; i++)
            for (int j = i + 1; j < r; j++) check(p[i], p[j]);
        sort(p.begin() + l, p.begin() + r, by_y);
        return;
    }
    int m = (l + r) / 2;
    double x = p[m].x;
    solve(l, m);
    solve(m, r);
    merge(p.begin() + l, p.begin() + m, p.begin() + m, p.begin() + r, merged.begin(), by_y);
    copy(merged.begin(), merged.begin() + (r - l), p.begin() + l);
    strip.clear();
    for (int i = l; i < r; i++) {
        if (fabs(p[i].x - x) >= best) continue;
        for (size_t k = strip.size(); k-- && p[i].y - strip[k].y < best;) check(p[i], strip[k]);
        strip.push_back(p[i]);
    }
}

int main() {
    const int n = 200000;
    uint64_t s = 4;
    auto rnd = [&] { s = s * 6364136223846793005ULL + 1442695040888963407ULL; return (s >> 11) / 9007199254740992.0; };
    p.resize(n);
    merged.resize(n);
    double sum = 0, chain = 0;
    for (int round = 0; round < 7; round++) {
        for (auto& q : p) {
            double angle = rnd() * 6.283185307179586, radius = sqrt(rnd()) * 1000;
            q = round % 2 ? P{radius * cos(angle), radius * sin(angle)} : P{rnd() * 1000, rnd() * 1000};
        }
        sort(p.begin(), p.end(), [](const P& a, const P& b) { return a.x < b.x; });
        for (int i = 1; i < n; i++) chain += hypot(p[i].x - p[i - 1].x, p[i].y - p[i - 1].y);
        best = 1e18;
        solve(0, n);
        sum += best;
    }
    printf("%.9f %.3f\n", sum, chain / n);
}
