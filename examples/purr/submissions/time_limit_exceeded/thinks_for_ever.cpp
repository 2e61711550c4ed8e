// Asks once and then computes without end.
#include <iostream>
#include <string>

int main() {
    int n;
    std::cin >> n;
    std::cout << "? 1" << std::endl;
    std::string word;
    std::cin >> word;
    volatile unsigned thought = 0;
    for (;;) {
        const unsigned next = thought + 1;
        thought = next;
    }
}
