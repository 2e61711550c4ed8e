// An order book: SortedDictionary of price levels with queues, matching buyers and sellers.
using System;
using System.Collections.Generic;
using System.Linq;

class Order {
    public int Id, Price, Amount;
}

class Book {
    readonly SortedDictionary<int, Queue<Order>> levels = new SortedDictionary<int, Queue<Order>>();
    readonly int sign;
    public Book(int sign) { this.sign = sign; }

    public void Add(Order o) {
        Queue<Order> q;
        if (!levels.TryGetValue(sign * o.Price, out q)) levels[sign * o.Price] = q = new Queue<Order>();
        q.Enqueue(o);
    }

    // Fills the order from the best levels; returns the traded value.
    public long Match(Order o, Dictionary<int, int> filled) {
        long value = 0;
        while (o.Amount > 0 && levels.Count > 0) {
            var best = levels.First();
            int price = sign * best.Key;
            if (sign * (price - o.Price) > 0) break;
            Order other = best.Value.Peek();
            int amount = Math.Min(o.Amount, other.Amount);
            o.Amount -= amount;
            other.Amount -= amount;
            value += (long)amount * price;
            filled.TryGetValue(other.Id, out int before);
            filled[other.Id] = before + amount;
            if (other.Amount == 0) best.Value.Dequeue();
            if (best.Value.Count == 0) levels.Remove(best.Key);
        }
        return value;
    }
}

class P {
    static void Main() {
        uint s = 71;
        Book sells = new Book(1), buys = new Book(-1);
        var filled = new Dictionary<int, int>();
        long traded = 0, hash = 0;
        for (int i = 0; i < 450000; i++) {
            s = s * 1664525u + 1013904223u;
            bool buy = (s >> 31) == 1;
            int middle = 10000 + (i / 50) % 700, price = middle + (int)(s >> 8 & 511) - 256;
            var o = new Order { Id = i, Price = price, Amount = 1 + (int)(s >> 20 & 63) };
            long value = buy ? sells.Match(o, filled) : buys.Match(o, filled);
            traded += value;
            hash = (hash * 31 + value) % 1000000007;
            if (o.Amount > 0) (buy ? buys : sells).Add(o);
        }
        Console.WriteLine(traded + " " + hash + " " + filled.Count);
    }
}
