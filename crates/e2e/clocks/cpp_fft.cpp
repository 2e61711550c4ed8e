// Polynomial squaring with an iterative FFT over complex<double>.
#include <cmath>
#include <complex>
#include <cstdio>
#include <utility>
#include <vector>
using namespace std;
using cd = complex<double>;

static void fft(vector<cd>& a, bool inv) {
    int n = a.size();
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) swap(a[i], a[j]);
    }
    for (int len = 2; len <= n; len *= 2) {
        vector<cd> w(len / 2);
        for (int k = 0; k < len / 2; k++) w[k] = polar(1.0, 2 * M_PI * k / len * (inv ? -1 : 1));
        for (int i = 0; i < n; i += len)
            for (int k = 0; k < len / 2; k++) {
                cd u = a[i + k], v = a[i + k + len / 2] * w[k];
                a[i + k] = u + v;
                a[i + k + len / 2] = u - v;
            }
    }
    if (inv)
        for (auto& x : a) x /= n;
}

int main() {
    const int n = 1 << 19;
    unsigned long long h = 0;
    for (int round = 0; round < 9; round++) {
        vector<cd> a(n);
        for (int i = 0; i < n / 2; i++) a[i] = (i * 37 + round * 11) % 10;
        fft(a, false);
        for (auto& x : a) x *= x;
        fft(a, true);
        for (auto& x : a) h = h * 31 + llround(x.real());
    }
    printf("%llu\n", h);
}
