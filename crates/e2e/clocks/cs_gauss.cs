// Linear algebra modulo a prime: determinants, ranks and inverses by Gaussian elimination.
using System;

class P {
    const long M = 1000000007;

    static long Power(long a, long e) {
        long r = 1;
        for (a %= M; e > 0; e >>= 1, a = a * a % M) if ((e & 1) == 1) r = r * a % M;
        return r;
    }

    // Reduces the left square part of a; returns the determinant and the rank.
    static long Reduce(long[][] a, int n, out int rank) {
        long det = 1;
        rank = 0;
        for (int c = 0; c < n; c++) {
            int p = rank;
            while (p < n && a[p][c] == 0) p++;
            if (p == n) { det = 0; continue; }
            if (p != rank) det = M - det;
            long[] row = a[p];
            a[p] = a[rank];
            a[rank] = row;
            det = det * row[c] % M;
            long inverse = Power(row[c], M - 2);
            for (int j = c; j < row.Length; j++) row[j] = row[j] * inverse % M;
            for (int i = 0; i < n; i++) {
                if (i == rank || a[i][c] == 0) continue;
                long f = M - a[i][c];
                long[] other = a[i];
                for (int j = c; j < row.Length; j++) other[j] = (other[j] + f * row[j]) % M;
            }
            rank++;
        }
        return det;
    }

    static void Main() {
        ulong s = 2;
        long hash = 0;
        for (int round = 0; round < 8; round++) {
            int n = 170 + 10 * round, rank;
            var a = new long[n][];
            for (int i = 0; i < n; i++) {
                a[i] = new long[2 * n];
                a[i][n + i] = 1;
                for (int j = 0; j < n; j++) {
                    s = s * 6364136223846793005UL + 1442695040888963407UL;
                    a[i][j] = round % 3 == 2 && i >= n - 5 ? a[i - n / 2][j] * 3 % M : (long)(s >> 34) % M;
                }
            }
            long det = Reduce(a, n, out rank);
            hash = (hash * 31 + det) % M;
            hash = (hash * 31 + rank) % M;
            for (int i = 0; i < n; i += 3) hash = (hash * 31 + a[i][2 * n - 1 - i]) % M;
        }
        Console.WriteLine(hash);
    }
}
