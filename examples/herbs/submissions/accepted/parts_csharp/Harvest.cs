public static partial class Harvest
{
    public static long Best(int[] leaves, int k)
    {
        var best = new long[leaves.Length + 1];
        for (var i = 0; i < leaves.Length; i++) best[i + 1] = Greater(best[i], leaves[i] + best[i > k ? i - k : 0]);
        return best[leaves.Length];
    }
}
