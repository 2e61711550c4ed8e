// Throws dice until the arrangement happens to be right.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

int main() {
    int n, k;
    std::cin >> n >> k;
    std::mt19937 dice(1);
    std::vector<int> others(n);
    for (;;) {
        std::vector<std::vector<bool>> writes(n, std::vector<bool>(n));
        bool good = true;
        for (int i = 0; i < n && good; i++) {
            std::iota(others.begin(), others.end(), 0);
            std::shuffle(others.begin(), others.end(), dice);
            for (int j = 0; j < k && good; j++) {
                good = others[j] != i && !writes[others[j]][i];
                writes[i][others[j]] = true;
            }
        }
        if (!good) continue;
        std::cout << "yes\n";
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++)
                if (writes[i][j]) std::cout << j + 1 << ' ';
            std::cout << '\n';
        }
        return 0;
    }
}
