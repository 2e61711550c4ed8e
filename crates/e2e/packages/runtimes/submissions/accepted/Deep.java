import java.math.BigInteger;
import java.util.Scanner;

public class Deep {
    static int depth(int n) {
        return n == 0 ? 0 : depth(n - 1) + 1;
    }

    public static void main(String[] args) {
        int n = new Scanner(System.in).nextInt();
        System.out.println(depth(n) + " é " + BigInteger.valueOf(3).pow(20000).toString().length());
    }
}
