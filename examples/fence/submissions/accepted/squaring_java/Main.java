import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        long n = new Scanner(System.in).nextLong();
        System.out.println(new Matrix(2, 1, 2, 0).power(n).firstRow());
    }
}
