#include <iostream>
#include <string>

std::string ask(int board) {
    std::cout << "? " << board << std::endl;
    std::string word;
    std::cin >> word;
    return word;
}

int main() {
    int low = 1, high;
    std::cin >> high;
    while (low < high) {
        int middle = low + (high - low) / 2;
        ask(middle);
        if (ask(middle + 1) == "louder") low = middle + 1;
        else high = middle;
    }
    std::cout << "! " << low << std::endl;
}
