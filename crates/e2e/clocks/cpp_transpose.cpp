// Transposing a vector of vectors, column-wise strided access.
#include <cstdio>
#include <vector>
using namespace std;

int main() {
    const int n = 3000;
    vector<vector<int>> a(n, vector<int>(n)), b(n, vector<int>(n));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i][j] = i * 1009 + j * 917;
    for (int round = 0; round < 18; round++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) b[i][j] = a[j][i] + round;
        swap(a, b);
        a[round][round * 5] ^= round;
    }
    unsigned long long h = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) h = h * 31 + a[i][j];
    printf("%llu\n", h);
}
