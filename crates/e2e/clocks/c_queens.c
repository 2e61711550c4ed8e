// N-queens: all solutions, half of the first row, by recursion with boolean arrays.
#include <stdio.h>

#define N 14
static int col[N], d1[2 * N], d2[2 * N];
static long long solutions, placed;

static void solve(int row) {
    if (row == N) {
        solutions++;
        return;
    }
    for (int c = 0; c < (row ? N : N / 2); c++) {
        if (col[c] || d1[row + c] || d2[row - c + N]) continue;
        placed++;
        col[c] = d1[row + c] = d2[row - c + N] = 1;
        solve(row + 1);
        col[c] = d1[row + c] = d2[row - c + N] = 0;
    }
}

int main(void) {
    solve(0);
    printf("%lld %lld\n", 2 * solutions, placed);
    return 0;
}
