// Asks for memory and uses it, until there is none.
#include <cstring>
#include <vector>

int main() {
    std::vector<char *> hoard;
    const std::size_t piece = 16 << 20;
    for (;;) {
        hoard.push_back(new char[piece]);
        std::memset(hoard.back(), static_cast<int>(hoard.size()), piece);
    }
}
