import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Scanner;

public class Main {
    public static void main(String[] args) throws IOException {
        int k = Integer.parseInt(args[0]);
        int[] leaves;
        try (Scanner file = new Scanner(new File("beds.txt"))) {
            leaves = new int[file.nextInt()];
            for (int i = 0; i < leaves.length; i++) leaves[i] = file.nextInt();
        }
        Scanner in = new Scanner(System.in);
        for (int stretches = in.nextInt(); stretches > 0; stretches--) {
            int first = in.nextInt();
            int last = in.nextInt();
            System.out.println(Math.min(Harvest.best(Arrays.copyOfRange(leaves, first - 1, last), k), {{basket}}L));
        }
    }
}
