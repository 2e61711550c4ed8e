// Strings: bracket sequences generated, checked, compared and hashed with StringBuilder and char arrays.
public class Main {
    static long hash = 7;
    static int made, nested;

    static void generate(StringBuilder b, int open, int left) {
        if (left == 0 && open == 0) {
            check(b.toString());
            return;
        }
        if (left > 0) {
            for (int k = 0; k < 3; k++) {
                b.append("([{".charAt(k));
                stack[depth++] = ")]}".charAt(k);
                generate(b, open + 1, left - 1);
                depth--;
                b.setLength(b.length() - 1);
            }
        }
        if (open > 0) {
            char c = stack[--depth];
            b.append(c);
            generate(b, open - 1, left);
            b.setLength(b.length() - 1);
            stack[depth++] = c;
        }
    }

    static final char[] stack = new char[64];
    static int depth;

    static void check(String s) {
        made++;
        hash = hash * 1000003 + s.hashCode();
        if (s.contains("[()]") || s.startsWith("((")) nested++;
        if (made % 4 != 0) {
            String t = s.replace("()", "o").replace("[]", "x");
            hash += t.length() + t.indexOf('x') + t.lastIndexOf("oo");
            String mirror = new StringBuilder(s).reverse().toString();
            if (mirror.compareTo(s) > 0) hash ^= mirror.charAt(mirror.length() / 2);
        }
    }

    public static void main(String[] args) {
        for (int n = 3; n <= 6; n++) generate(new StringBuilder(), 0, n);
        System.out.println(made + " " + nested + " " + hash);
    }
}
