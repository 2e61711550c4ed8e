class Harvest {
    static long best(int[] leaves, int k) {
        return from(0, leaves, k);
    }

    private static long from(int bed, int[] leaves, int k) {
        if (bed >= leaves.length) return 0;
        return Math.max(from(bed + 1, leaves, k), leaves[bed] + from(bed + k + 1, leaves, k));
    }
}
