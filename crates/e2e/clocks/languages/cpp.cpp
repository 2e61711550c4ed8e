#include <algorithm>
#include <iostream>
#include <map>
#include <vector>
int main() {
    std::vector<int> a(60000);
    std::map<int, int> seen;
    unsigned s = 1;
    for (int &x : a) { s = s * 1103515245u + 12345u; x = s >> 8; seen[x % 1000]++; }
    std::sort(a.begin(), a.end());
    std::cout << a[a.size() / 2] << ' ' << seen[7] << '\n';
}
