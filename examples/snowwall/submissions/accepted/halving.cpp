#include <iostream>

int main() {
    int days;
    std::cin >> days;
    for (long long n; days-- > 0 && std::cin >> n;) {
        long long low = 0, high = 2000000000;
        while (low < high) {
            long long middle = (low + high + 1) / 2;
            if (middle * (middle + 1) / 2 <= n) low = middle;
            else high = middle - 1;
        }
        std::cout << low << ' ' << n - low * (low + 1) / 2 << '\n';
    }
}
