import java.util.Scanner;

public class Solution {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int least = 1, most = 1000;
        while (least <= most) {
            int middle = (least + most) / 2;
            System.out.println(middle);
            System.out.flush();
            String answer = in.next();
            if (answer.equals("correct")) return;
            if (answer.equals("lower")) most = middle - 1;
            else least = middle + 1;
        }
    }
}
