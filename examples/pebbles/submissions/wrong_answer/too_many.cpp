// More pebbles than fit into the bowl.
#include <iostream>

int main() {
    std::cout << 100;
    for (int pebble = 1; pebble <= 100; pebble++) std::cout << ' ' << pebble;
    std::cout << '\n';
}
