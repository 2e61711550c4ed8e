class Harvest {
    static long best(int[] leaves, int k) {
        Row row = new Row(k);
        for (int bed : leaves) row.offer(bed);
        return row.best();
    }
}
