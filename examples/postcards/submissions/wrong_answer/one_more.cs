using System;
using System.Linq;

public static class OneMore
{
    public static void Main()
    {
        var input = Console.ReadLine().Split(' ').Select(int.Parse).ToArray();
        int n = input[0], k = input[1];
        if (2 * k > n - 1)
        {
            Console.WriteLine("no");
            return;
        }
        Console.WriteLine("yes");
        for (var i = 0; i < n; i++)
            Console.WriteLine(string.Join(" ", Enumerable.Range(1, k).Select(j => (i + j) % n + 1)));
        Console.WriteLine("happy holidays");
    }
}
