/* Takes the board in the middle. */
#include <stdio.h>

int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    printf("! %d\n", n / 2 + 1);
    return 0;
}
