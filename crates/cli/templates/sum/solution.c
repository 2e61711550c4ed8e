#include <stdio.h>

int main(void) {
    int n;
    long long sum = 0, number;
    if (scanf("%d", &n) != 1) return 1;
    while (n-- > 0 && scanf("%lld", &number) == 1) sum += number;
    printf("%lld\n", sum);
    return 0;
}
