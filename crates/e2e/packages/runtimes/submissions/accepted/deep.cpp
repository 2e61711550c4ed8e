#include <iostream>

[[gnu::noinline]] static int depth(int n) {
    volatile char frame[1024];
    frame[n % 1024] = 1;
    return n == 0 ? 0 : depth(n - 1) + frame[n % 1024];
}

int main() {
    int n;
    std::cin >> n;
    std::cout << depth(n) << " é " << 9543 << "\n";
}
