public static partial class Harvest
{
    private static long Greater(long a, long b)
    {
        return a > b ? a : b;
    }
}
