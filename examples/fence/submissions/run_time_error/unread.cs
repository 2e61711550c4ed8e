using System;

public static class Unread
{
    public static void Main()
    {
        var n = int.Parse(Console.ReadLine());
        var m = int.Parse(Console.ReadLine());
        Console.WriteLine(n + m);
    }
}
