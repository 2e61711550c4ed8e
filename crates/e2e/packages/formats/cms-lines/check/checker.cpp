#include <cstdio>
#include <fstream>
#include <iostream>

int main(int, char **argv) {
    std::ifstream answer(argv[2]), output(argv[3]);
    long right, found;
    answer >> right;
    if (!(output >> found)) found = -1;
    std::cout << (found == right ? 1.0 : found == right / 2 ? 0.5 : 0.0) << "\n";
    std::cerr << (found == right ? "translate:success" : "translate:wrong") << "\n";
}
