#include <iostream>
#include <string>

int main() {
    int least = 1, most = 1000;
    std::string answer;
    while (least <= most) {
        int middle = (least + most) / 2;
        std::cout << middle << std::endl;
        if (!(std::cin >> answer) || answer == "correct") return 0;
        if (answer == "lower") most = middle - 1;
        else least = middle + 1;
    }
    return 1;
}
