// Right for groups 1 and 2 only: forgets most of a long number.
#include <iostream>
#include <string>

int main() {
    std::string text;
    int k;
    std::cin >> text >> k;
    const auto n = static_cast<unsigned>(std::stoull(text) % 1000003);
    unsigned count = 0, greatest = 0;
    for (unsigned ticket = 1; ticket <= n; ticket++) {
        unsigned sum = 0;
        for (unsigned rest = ticket; rest > 0; rest /= 10) sum += rest % 10;
        if (sum % k == 0) {
            count++;
            greatest = ticket;
        }
    }
    std::cout << count << ' ' << greatest << '\n';
}
