#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "harvest.h"

int main(int argc, char **argv) {
    std::ifstream file("beds.txt");
    int beds, stretches;
    if (argc != 2 || !(file >> beds)) return 1;
    std::vector<int> leaves(beds);
    for (int &bed : leaves) file >> bed;
    std::cin >> stretches;
    for (int first, last; stretches-- > 0 && std::cin >> first >> last;) {
        const long long picked = harvest(leaves.data() + first - 1, last - first + 1, std::stoi(argv[1]));
        std::cout << std::min(picked, {{basket}}LL) << '\n';
    }
}
