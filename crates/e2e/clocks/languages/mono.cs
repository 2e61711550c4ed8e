using System;
using System.Collections.Generic;
class P {
    static void Main() {
        uint s = 1;
        var a = new List<int>();
        var seen = new Dictionary<string, int>();
        for (int i = 0; i < 60000; i++) {
            s = s * 1103515245u + 12345u;
            a.Add((int)(s >> 8));
            string k = (s % 1000).ToString();
            int n;
            seen.TryGetValue(k, out n);
            seen[k] = n + 1;
        }
        a.Sort();
        Console.WriteLine(a[a.Count / 2] + " " + seen["7"]);
    }
}
