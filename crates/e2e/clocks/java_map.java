// HashMap<Integer, Integer>: counting and lookups.
import java.util.HashMap;
import java.util.Map;

public class Main {
    public static void main(String[] args) {
        Map<Integer, Integer> count = new HashMap<>();
        long s = 6;
        for (int i = 0; i < 9000000; i++) {
            s = (s * 25214903917L + 11) & ((1L << 48) - 1);
            count.merge((int) (s >>> 24) % 200000, 1, Integer::sum);
        }
        long sum = 0;
        for (Map.Entry<Integer, Integer> e : count.entrySet()) {
            Integer other = count.get(e.getKey() * 2);
            if (other != null) sum += (long) other * e.getValue();
        }
        System.out.println(count.size() + " " + sum);
    }
}
