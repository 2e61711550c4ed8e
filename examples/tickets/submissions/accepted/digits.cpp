#include <iostream>
#include <string>
#include <vector>

int k;
std::vector<std::vector<long long>> ways;

long long strings(int length, int sum) { return ways[length][(k - sum % k) % k]; }

int main() {
    std::string n;
    std::cin >> n >> k;
    const int size = static_cast<int>(n.size());
    ways.assign(size + 1, std::vector<long long>(k));
    ways[0][0] = 1;
    for (int length = 1; length <= size; length++)
        for (int rest = 0; rest < k; rest++)
            for (int d = 0; d < 10; d++) ways[length][(rest + d) % k] += ways[length - 1][rest];

    long long count = -1;  // 0 is no ticket
    int sum = 0;
    std::string greatest = "0";
    for (int i = 0; i < size; i++) {
        for (int d = 0; d < n[i] - '0'; d++) {
            const long long found = strings(size - i - 1, sum + d);
            count += found;
            if (found == 0) continue;
            greatest = n.substr(0, i) + static_cast<char>('0' + d);
            for (int total = sum + d, j = i + 1; j < size; j++) {
                int e = 9;
                while (strings(size - j - 1, total + e) == 0) e--;
                greatest += static_cast<char>('0' + e);
                total += e;
            }
        }
        sum += n[i] - '0';
    }
    if (sum % k == 0) {
        count++;
        greatest = n;
    }
    std::cout << count << ' ' << std::stoll(greatest) << '\n';
}
