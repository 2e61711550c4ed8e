#include <iostream>

int main() {
    int days
    std::cin >> days;
    std::cout << days << '\n';
}
