// BigInteger: Fibonacci by doubling, probable primes and a small RSA round trip.
import java.math.BigInteger;

public class Main {
    static BigInteger[] fib(int n) {
        if (n == 0) return new BigInteger[] {BigInteger.ZERO, BigInteger.ONE};
        BigInteger[] h = fib(n / 2);
        BigInteger a = h[0].multiply(h[1].shiftLeft(1).subtract(h[0]));
        BigInteger b = h[0].multiply(h[0]).add(h[1].multiply(h[1]));
        return n % 2 == 0 ? new BigInteger[] {a, b} : new BigInteger[] {b, a.add(b)};
    }

    static boolean prime(BigInteger n) {
        BigInteger d = n.subtract(BigInteger.ONE);
        int r = d.getLowestSetBit();
        for (int base : new int[] {2, 3, 5, 7}) {
            BigInteger x = BigInteger.valueOf(base).modPow(d.shiftRight(r), n);
            if (x.equals(BigInteger.ONE)) continue;
            int k = 0;
            while (k < r && !x.equals(d)) {
                x = x.multiply(x).mod(n);
                k++;
            }
            if (k == r) return false;
        }
        return true;
    }

    static BigInteger primeFrom(BigInteger n) {
        if (!n.testBit(0)) n = n.add(BigInteger.ONE);
        while (!prime(n)) n = n.add(BigInteger.valueOf(2));
        return n;
    }

    public static void main(String[] args) {
        BigInteger m = BigInteger.valueOf(1000000007);
        long hash = 0;
        for (int n = 20000; n <= 36000; n += 2000) {
            String digits = fib(n)[0].toString();
            for (int i = 0; i < digits.length(); i += 7) hash = (hash * 31 + digits.charAt(i)) % 1000000007;
        }
        BigInteger e = BigInteger.valueOf(65537), seed = BigInteger.valueOf(3).pow(100);
        for (int i = 0; i < 6; i++) {
            BigInteger p = primeFrom(seed.shiftLeft(20 + i)), q = primeFrom(seed.multiply(BigInteger.valueOf(1000003 + i)));
            BigInteger n = p.multiply(q);
            BigInteger d = e.modInverse(p.subtract(BigInteger.ONE).multiply(q.subtract(BigInteger.ONE)));
            for (int k = 0; k < 10; k++) {
                BigInteger text = BigInteger.valueOf(7919 + k).pow(15 + i).mod(n), cipher = text.modPow(e, n);
                if (!cipher.modPow(d, n).equals(text)) throw new RuntimeException("wrong");
                hash = (hash * 31 + cipher.mod(m).longValue()) % 1000000007;
            }
        }
        System.out.println(hash);
    }
}
