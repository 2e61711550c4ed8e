import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

public class Main {
    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int days = Integer.parseInt(in.readLine());
        StringBuilder out = new StringBuilder();
        for (int day = 0; day < days; day++) {
            long n = Long.parseLong(in.readLine());
            long rows = 0;
            for (long step = 1L << 30; step > 0; step /= 2) {
                long tried = rows + step;
                if (tried * (tried + 1) / 2 <= n) rows = tried;
            }
            out.append(rows).append(' ').append(n - rows * (rows + 1) / 2).append('\n');
        }
        System.out.print(out);
    }
}
