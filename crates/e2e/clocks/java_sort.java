// Nested loop arithmetic, then sorting an ArrayList of boxed integers.
import java.util.ArrayList;
import java.util.Collections;

public class Main {
    public static void main(String[] args) {
        long sum = 0;
        for (int i = 1; i <= 8000; i++)
            for (int j = 1; j <= 8000; j++)
                sum += (long) (i ^ j) * j % (i + 7);
        ArrayList<Integer> list = new ArrayList<>();
        long s = 2021;
        for (int i = 0; i < 500000; i++) {
            s = (s * 25214903917L + 11) & ((1L << 48) - 1);
            list.add((int) (s >>> 20) & 0xFFFFFF);
        }
        Collections.sort(list);
        long h = 0;
        for (int x : list) h = h * 31 + x;
        System.out.println(sum + " " + h);
    }
}
