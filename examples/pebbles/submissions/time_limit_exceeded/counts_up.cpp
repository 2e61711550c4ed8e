// Tove tries one number after the other, until Bria would have put the same pebbles.
#include <iostream>
#include <string>
#include <vector>

std::vector<bool> bowl(long long x) {
    std::vector<bool> pebbles(101);
    for (int bit = 0; bit < 60; bit++) pebbles[bit + 1] = x >> bit & 1;
    return pebbles;
}

int main() {
    std::string word;
    std::cin >> word;
    if (word == "put") {
        long long x;
        std::cin >> x;
        const auto pebbles = bowl(x);
        int count = 0;
        for (bool in : pebbles) count += in;
        std::cout << count;
        for (int pebble = 1; pebble <= 100; pebble++)
            if (pebbles[pebble]) std::cout << ' ' << pebble;
        std::cout << '\n';
    } else {
        int count, pebble;
        std::vector<bool> seen(101);
        for (std::cin >> count; count-- > 0 && std::cin >> pebble;) seen[pebble] = true;
        long long x = 0;
        while (bowl(x) != seen) x++;
        std::cout << x << '\n';
    }
}
