// Never stops asking, and does not notice when nobody replies any more.
#include <iostream>
#include <string>

int main() {
    int n;
    std::cin >> n;
    for (std::string word;;) {
        std::cout << "? " << n << std::endl;
        std::cin >> word;
    }
}
