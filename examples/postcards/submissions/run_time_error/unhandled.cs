using System;

public static class Unhandled
{
    public static void Main()
    {
        string nobody = null;
        Console.WriteLine(nobody.Length);
    }
}
