#include <iostream>

int main() {
    long long n, count = 0, greatest = 0;
    int k;
    std::cin >> n >> k;
    for (long long ticket = 1; ticket <= n; ticket++) {
        int sum = 0;
        for (long long rest = ticket; rest > 0; rest /= 10) sum += static_cast<int>(rest % 10);
        if (sum % k == 0) {
            count++;
            greatest = ticket;
        }
    }
    std::cout << count << ' ' << greatest << '\n';
}
