// std::map: insertions, lookups, erasures and ordered traversal.
#include <cstdint>
#include <cstdio>
#include <map>
using namespace std;

static uint64_t state = 77;
static int next_key() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % 1500000;
}

int main() {
    map<int, int> m;
    for (int i = 0; i < 600000; i++) m[next_key()] += i;
    long long sum = 0;
    for (int i = 0; i < 600000; i++) {
        auto it = m.lower_bound(next_key());
        if (it != m.end()) sum += it->first ^ it->second;
    }
    for (int i = 0; i < 300000; i++) m.erase(next_key());
    unsigned long long h = 0;
    for (auto& [k, v] : m) h = h * 1000003 + k + v;
    printf("%zu %lld %llu\n", m.size(), sum, h);
}
