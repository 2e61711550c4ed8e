import java.util.Scanner;

public class Solution {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int shift = in.next().equals("send") ? 'a' - '0' : '0' - 'a';
        StringBuilder text = new StringBuilder();
        for (char c : in.next().toCharArray()) text.append((char) (c + shift));
        System.out.println(text);
    }
}
