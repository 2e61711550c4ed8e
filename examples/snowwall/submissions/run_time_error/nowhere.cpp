#include <iostream>

struct Wall {
    long long rows;
};

// The wall is never built.
int main() {
    Wall *volatile wall = nullptr;
    std::cout << wall->rows << '\n';
}
