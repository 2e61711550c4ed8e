class Harvest {
    static long best(int[] leaves, int k) {
        long[] best = new long[leaves.length + 1];
        for (int i = 0; i < leaves.length; i++) best[i + 1] = Math.max(best[i], leaves[i] + best[i - k]);
        return best[leaves.length];
    }
}
