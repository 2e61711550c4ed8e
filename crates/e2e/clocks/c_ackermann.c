// Ackermann function and Towers of Hanoi, plain recursion.
#include <stdio.h>

static unsigned long long calls, hash;

static int ack(int m, int n) {
    calls++;
    if (m == 0) return n + 1;
    if (n == 0) return ack(m - 1, 1);
    return ack(m - 1, ack(m, n - 1));
}

static void hanoi(int n, int from, int to, int via) {
    if (n == 0) return;
    hanoi(n - 1, from, via, to);
    hash = hash * 31 + from * 3 + to + n;
    hanoi(n - 1, via, to, from);
}

int main(void) {
    int a = ack(3, 12);
    hanoi(26, 0, 2, 1);
    printf("%d %llu %llu\n", a, calls, hash);
    return 0;
}
