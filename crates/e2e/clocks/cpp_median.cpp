// Sliding-window medians with two multisets, checked against nth_element on samples.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>
#include <vector>
using namespace std;

struct Median {
    multiset<int> low, high;
    void balance() {
        if (low.size() > high.size() + 1) high.insert(*low.rbegin()), low.erase(prev(low.end()));
        if (low.size() < high.size()) low.insert(*high.begin()), high.erase(high.begin());
    }
    void add(int x) {
        if (low.empty() || x <= *low.rbegin()) low.insert(x); else high.insert(x);
        balance();
    }
    void remove(int x) {
        if (x <= *low.rbegin()) low.erase(low.find(x)); else high.erase(high.find(x));
        balance();
    }
};

int main() {
    const int n = 450000;
    vector<int> a(n);
    uint32_t s = 11;
    for (int i = 0; i < n; i++) {
        s = s * 1664525 + 1013904223;
        a[i] = (s >> 12) % 100000 + i / 10;
    }
    unsigned long long h = 0;
    int bad = 0;
    for (int w : {51, 1001, 20001}) {
        Median m;
        for (int i = 0; i < n; i++) {
            m.add(a[i]);
            if (i >= w) m.remove(a[i - w]);
            if (i < w - 1) continue;
            int mid = *m.low.rbegin();
            h = h * 1000003 + mid;
            if (i % 5000 == 0) {
                vector<int> b(a.begin() + (i - w + 1), a.begin() + i + 1);
                nth_element(b.begin(), b.begin() + w / 2, b.end());
                bad += b[w / 2] != mid;
            }
        }
    }
    printf("%llu %d\n", h, bad);
}
