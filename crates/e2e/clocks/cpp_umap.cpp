// unordered_map as a counter with many repeated keys.
#include <cstdint>
#include <cstdio>
#include <unordered_map>
using namespace std;

int main() {
    unordered_map<long long, int> cnt;
    uint64_t s = 31337;
    for (int i = 0; i < 14000000; i++) {
        s ^= s << 13; s ^= s >> 7; s ^= s << 17;
        cnt[(long long)(s % 500000) * 1000003]++;
    }
    long long pairs = 0, found = 0;
    for (auto& p : cnt) pairs += (long long)p.second * (p.second - 1) / 2;
    for (long long i = 0; i < 1500000; i++) {
        auto it = cnt.find(i * 1000003 / 2);
        if (it != cnt.end()) found += it->second;
    }
    printf("%zu %lld %lld\n", cnt.size(), pairs, found);
}
