import java.util.Scanner;

class Floor {
    private final Scanner replies;
    private final int boards;

    Floor(Scanner replies) {
        this.replies = replies;
        this.boards = replies.nextInt();
    }

    int boards() {
        return boards;
    }

    boolean nearerToNext(int board) {
        ask(board);
        return ask(board + 1).equals("louder");
    }

    private String ask(int board) {
        System.out.println("? " + board);
        System.out.flush();
        return replies.next();
    }
}
