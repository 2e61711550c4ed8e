// Longest increasing subsequences by patience and their number with a Fenwick tree over compressed values.
import java.util.Arrays;

public class Main {
    static final int MOD = 1000000007;

    static int longest(int[] a) {
        int[] tails = new int[a.length];
        int n = 0;
        for (int x : a) {
            int i = Arrays.binarySearch(tails, 0, n, x);
            if (i == -n - 1) tails[n++] = x;
            else if (i < 0) tails[-i - 1] = x;
        }
        return n;
    }

    static int[] compress(int[] a) {
        int[] sorted = Arrays.stream(a).sorted().distinct().toArray(), out = new int[a.length];
        for (int i = 0; i < a.length; i++) out[i] = Arrays.binarySearch(sorted, a[i]) + 1;
        return out;
    }

    // The number of strictly increasing subsequences of k elements.
    static long count(int[] rank, int k) {
        int n = rank.length;
        int[] ways = new int[n], next = new int[n];
        Arrays.fill(ways, 1);
        for (int step = 1; step < k; step++) {
            int[] tree = new int[n + 2];
            for (int i = 0; i < n; i++) {
                long sum = 0;
                for (int j = rank[i] - 1; j > 0; j &= j - 1) sum += tree[j];
                next[i] = (int) (sum % MOD);
                for (int j = rank[i]; j <= n; j += j & -j) {
                    tree[j] += ways[i];
                    if (tree[j] >= MOD) tree[j] -= MOD;
                }
            }
            System.arraycopy(next, 0, ways, 0, n);
        }
        long total = 0;
        for (int w : ways) total += w;
        return total % MOD;
    }

    public static void main(String[] args) {
        int n = 60000, s = 99;
        long hash = 0;
        for (int round = 0; round < 3; round++) {
            int[] a = new int[n];
            for (int i = 0; i < n; i++) {
                s = s * 1664525 + 1013904223;
                a[i] = (s >>> 8) % 1000000 + round * i;
            }
            hash = (hash * 31 + longest(a)) % MOD;
            hash = (hash * 31 + count(compress(a), 5)) % MOD;
        }
        System.out.println(hash);
    }
}
