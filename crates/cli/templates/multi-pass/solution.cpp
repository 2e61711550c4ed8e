#include <iostream>
#include <string>

int main() {
    std::string word, text;
    std::cin >> word >> text;
    int shift = word == "send" ? 'a' - '0' : '0' - 'a';
    for (char &c : text) c += shift;
    std::cout << text << '\n';
}
