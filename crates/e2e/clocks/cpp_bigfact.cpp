// Factorial with a base 10^9 big integer.
#include <cstdint>
#include <cstdio>
#include <vector>
using namespace std;

int main() {
    const uint32_t base = 1000000000;
    vector<uint32_t> d{1};
    for (uint32_t k = 2; k <= 32000; k++) {
        uint64_t carry = 0;
        for (auto& x : d) {
            carry += (uint64_t)x * k;
            x = carry % base;
            carry /= base;
        }
        if (carry) d.push_back(carry);
    }
    long long digits = 0, top = 0;
    for (uint32_t x : d)
        for (int i = 0; i < 9; i++, x /= 10) digits += x % 10;
    for (uint32_t x = d.back(); x; x /= 10) top++;
    printf("%lld %lld\n", (long long)(d.size() - 1) * 9 + top, digits);
}
