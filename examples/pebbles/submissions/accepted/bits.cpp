#include <iostream>
#include <string>
#include <vector>

int main() {
    std::string word;
    std::cin >> word;
    if (word == "put") {
        long long x;
        std::cin >> x;
        std::vector<int> pebbles;
        for (int bit = 0; bit < 60; bit++)
            if (x >> bit & 1) pebbles.push_back(bit + 1);
        std::cout << pebbles.size();
        for (int pebble : pebbles) std::cout << ' ' << pebble;
        std::cout << '\n';
    } else {
        int count, pebble;
        long long x = 0;
        for (std::cin >> count; count-- > 0 && std::cin >> pebble;) x |= 1LL << (pebble - 1);
        std::cout << x << '\n';
    }
}
