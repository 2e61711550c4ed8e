// Huffman codes: trees built with a PriorityQueue of nodes, texts encoded and decoded.
import java.util.PriorityQueue;

public class Main {
    static class Node implements Comparable<Node> {
        int weight, symbol, order;
        Node zero, one;

        Node(int weight, int symbol, int order, Node zero, Node one) {
            this.weight = weight;
            this.symbol = symbol;
            this.order = order;
            this.zero = zero;
            this.one = one;
        }

        public int compareTo(Node o) {
            return weight != o.weight ? Integer.compare(weight, o.weight) : Integer.compare(order, o.order);
        }
    }

    static void codes(Node n, String prefix, String[] out) {
        if (n.zero != null) codes(n.zero, prefix + '0', out);
        if (n.one != null) codes(n.one, prefix + '1', out);
        else out[n.symbol] = prefix;
    }

    public static void main(String[] args) {
        long s = 3, hash = 0, bits = 0;
        for (int round = 0; round < 14; round++) {
            int n = 400 + 40 * round;
            int[] text = new int[60000], count = new int[n];
            for (int i = 0; i < text.length; i++) {
                s = (s * 25214903917L + 11) & ((1L << 48) - 1);
                int a = (int) (s >>> 20) % n, b = (int) (s >>> 30) % n;
                count[text[i] = Math.floorMod(Math.min(a, b), n)]++;
            }
            PriorityQueue<Node> queue = new PriorityQueue<>();
            int order = 0;
            for (int c = 0; c < n; c++) queue.add(new Node(count[c], c, order++, null, null));
            while (queue.size() > 1) {
                Node a = queue.poll(), b = queue.poll();
                queue.add(new Node(a.weight + b.weight, -1, order++, a, b));
            }
            Node root = queue.poll();
            String[] code = new String[n];
            codes(root, "", code);
            StringBuilder out = new StringBuilder();
            for (int c : text) out.append(code[c]);
            bits += out.length();
            Node at = root;
            for (int i = 0, k = 0; i < out.length(); i++) {
                at = out.charAt(i) == '0' ? at.zero : at.one;
                if (at.zero != null) continue;
                hash = (hash * 31 + (at.symbol ^ text[k++] * 3)) % 1000000007;
                at = root;
            }
        }
        System.out.println(bits + " " + hash);
    }
}
