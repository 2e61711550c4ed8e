using System;
using System.IO;
using System.Linq;

public static class MainProgram
{
    public static void Main(string[] args)
    {
        var k = int.Parse(args[0]);
        var leaves = File.ReadAllLines("beds.txt")[1].Split(' ').Select(int.Parse).ToArray();
        for (var stretches = int.Parse(Console.ReadLine()); stretches > 0; stretches--)
        {
            var ends = Console.ReadLine().Split(' ').Select(int.Parse).ToArray();
            var stretch = leaves.Skip(ends[0] - 1).Take(ends[1] - ends[0] + 1).ToArray();
            Console.WriteLine(Math.Min(Harvest.Best(stretch, k), {{basket}}L));
        }
    }
}
