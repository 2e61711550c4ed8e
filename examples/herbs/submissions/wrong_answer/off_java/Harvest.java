class Harvest {
    /** Leaves one bed too few between two. */
    static long best(int[] leaves, int k) {
        long[] best = new long[leaves.length + 1];
        for (int i = 0; i < leaves.length; i++)
            best[i + 1] = Math.max(best[i], leaves[i] + best[Math.min(Math.max(i - k + 1, 0), i)]);
        return best[leaves.length];
    }
}
