using System;
using System.Numerics;

class Deep {
    static int Depth(int n) {
        return n == 0 ? 0 : Depth(n - 1) + 1;
    }

    static void Main() {
        int n = int.Parse(Console.ReadLine());
        Console.WriteLine(Depth(n) + " é " + BigInteger.Pow(3, 20000).ToString().Length);
    }
}
