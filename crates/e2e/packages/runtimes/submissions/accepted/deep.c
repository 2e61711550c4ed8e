#include <locale.h>
#include <stdio.h>

/* A frame of 1 KiB: 100 MiB in all, where the usual stack of 8 MiB would not do. */
__attribute__((noinline)) static int depth(int n) {
    volatile char frame[1024];
    frame[n % 1024] = 1;
    return n == 0 ? 0 : depth(n - 1) + frame[n % 1024];
}

int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    printf("%d %s %d\n", depth(n), "é", 9543);
    return 0;
}
