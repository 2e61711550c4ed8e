import java.util.*;
public class Main {
    public static void main(String[] args) {
        int s = 1;
        List<Integer> a = new ArrayList<>();
        Map<Integer, Integer> seen = new HashMap<>();
        for (int i = 0; i < 60000; i++) {
            s = s * 1103515245 + 12345;
            a.add(s >>> 8);
            seen.merge((s >>> 8) % 1000, 1, Integer::sum);
        }
        Collections.sort(a);
        System.out.println(a.get(a.size() / 2) + " " + seen.get(7));
    }
}
