public class Main {
    public static void main(String[] args) {
        int rows = "many";
        System.out.println(rows);
    }
}
