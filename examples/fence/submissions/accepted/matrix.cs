using System;

public static class Fence
{
    private const long P = 1000000007;

    private static long[] Times(long[] x, long[] y)
    {
        return new[]
        {
            (x[0] * y[0] + x[1] * y[2]) % P, (x[0] * y[1] + x[1] * y[3]) % P,
            (x[2] * y[0] + x[3] * y[2]) % P, (x[2] * y[1] + x[3] * y[3]) % P,
        };
    }

    public static void Main()
    {
        var n = long.Parse(Console.ReadLine());
        long[] power = { 1, 0, 0, 1 }, step = { 2, 1, 2, 0 };
        for (; n > 0; n /= 2)
        {
            if (n % 2 == 1) power = Times(power, step);
            step = Times(step, step);
        }
        Console.WriteLine((power[0] + power[1]) % P);
    }
}
