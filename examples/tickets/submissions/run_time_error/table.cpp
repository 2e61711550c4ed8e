// A table with an entry for each ticket: there is no memory for 10^18 of them.
#include <iostream>
#include <vector>

int main() {
    unsigned long long n;
    int k, count = 0;
    std::cin >> n >> k;
    std::vector<int> sum(n + 1);
    unsigned long long greatest = 0;
    for (unsigned long long ticket = 1; ticket <= n; ticket++) {
        sum[ticket] = sum[ticket / 10] + static_cast<int>(ticket % 10);
        if (sum[ticket] % k == 0) {
            count++;
            greatest = ticket;
        }
    }
    std::cout << count << ' ' << greatest << '\n';
}
