import java.util.ArrayList;
import java.util.List;

/** The best harvest of each beginning of a row. */
class Row {
    private final List<Long> best = new ArrayList<>(List.of(0L));
    private final int k;

    Row(int k) {
        this.k = k;
    }

    void offer(int leaves) {
        int beds = best.size() - 1;
        best.add(Math.max(best(), leaves + best.get(Math.max(beds - k, 0))));
    }

    long best() {
        return best.get(best.size() - 1);
    }
}
