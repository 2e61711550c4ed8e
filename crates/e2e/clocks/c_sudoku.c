// Sudoku by backtracking with bit masks: solutions of hard and of ambiguous boards, up to a limit.
#include <stdio.h>

static const char *boards[] = {
    "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
    "52...6.........7.13...........4..8..6......5...........418.........3..2...87.....",
    "85...24..72......9..4.........1.7..23.5...9...4...........8..7..17..........36.4.",
    ".....6....59.....82....8....45........3........6..3.54...325..6..................",
};
static int row[9], col[9], box[9], cell[81], cells;
static char grid[82];
static long long nodes, hash;
static int found, limit;

static void solve(int k) {
    nodes++;
    if (k == cells) {
        found++;
        for (int i = 0; i < 81; i += 5) hash = (hash * 31 + grid[i]) % 1000000007;
        return;
    }
    int best = k, fewest = 10, mask = 0;
    for (int i = k; i < cells && fewest > 1; i++) {
        int r = cell[i] / 9, c = cell[i] % 9, m = 511 & ~(row[r] | col[c] | box[r / 3 * 3 + c / 3]);
        int n = __builtin_popcount(m);
        if (n < fewest) { fewest = n; best = i; mask = m; }
    }
    int at = cell[best], r = at / 9, c = at % 9, b = r / 3 * 3 + c / 3;
    cell[best] = cell[k];
    cell[k] = at;
    for (; mask && found < limit; mask &= mask - 1) {
        int bit = mask & -mask;
        row[r] ^= bit; col[c] ^= bit; box[b] ^= bit;
        grid[at] = '1' + __builtin_ctz(bit);
        solve(k + 1);
        row[r] ^= bit; col[c] ^= bit; box[b] ^= bit;
    }
    cell[k] = cell[best];
    cell[best] = at;
}

int main(void) {
    for (int t = 0; t < 4; t++) {
        cells = 0;
        for (int i = 0; i < 9; i++) row[i] = col[i] = box[i] = 0;
        for (int i = 0; i < 81; i++) {
            int ch = grid[i] = boards[t][i];
            if (ch == '.') { cell[cells++] = i; continue; }
            int bit = 1 << (ch - '1');
            row[i / 9] |= bit; col[i % 9] |= bit; box[i / 27 * 3 + i % 9 / 3] |= bit;
        }
        limit = found + 60000;
        solve(0);
    }
    printf("%d %lld %lld\n", found, nodes, hash);
    return 0;
}
