#include <cstdio>
#include <map>

int main() {
    std::freopen("pairs.in", "r", stdin);
    std::freopen("pairs.out", "w", stdout);
    int n, x, least = 1 << 30;
    long pairs = 0;
    std::map<int, int> seen;
    std::scanf("%d", &n);
    for (int i = 0; i < n; i++) {
        std::scanf("%d", &x);
        pairs += seen[x]++;
        if (x < least) least = x;
    }
    std::printf("%ld %d\n", pairs, least);
}
