#include <iostream>

int main() {
    int days;
    std::cin >> days;
    for (long long n; days-- > 0 && std::cin >> n;) {
        long long row = 1;
        while (n >= row) n -= row++;
        std::cout << row - 1 << ' ' << n << '\n';
    }
}
