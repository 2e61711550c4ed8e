#include <iostream>

int main() {
    int n;
    long long sum = 0, number;
    std::cin >> n;
    while (n-- > 0 && std::cin >> number) sum += number;
    std::cout << sum << '\n';
}
