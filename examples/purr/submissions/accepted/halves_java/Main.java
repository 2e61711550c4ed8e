import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Floor floor = new Floor(new Scanner(System.in));
        int low = 1;
        int high = floor.boards();
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (floor.nearerToNext(middle)) low = middle + 1;
            else high = middle;
        }
        System.out.println("! " + low);
    }
}
