// std::sort of pseudo-random integers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>
using namespace std;

int main() {
    vector<int> v(5000000);
    uint32_t s = 1;
    for (auto& x : v) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        x = s >> 1;
    }
    sort(v.begin(), v.end());
    uint64_t h = 0;
    for (size_t i = 0; i < v.size(); i++) h = h * 31 + v[i] * (i % 7 + 1);
    printf("%llu\n", (unsigned long long)h);
}
