/* Right answers, and an exit code that is not zero. */
#include <stdio.h>

int main(void) {
    int days;
    if (scanf("%d", &days) != 1) return 1;
    while (days-- > 0) {
        long long n, rows = 0;
        if (scanf("%lld", &n) != 1) return 1;
        for (long long step = 1LL << 30; step > 0; step /= 2)
            if ((rows + step) * (rows + step + 1) / 2 <= n) rows += step;
        printf("%lld %lld\n", rows, n - rows * (rows + 1) / 2);
    }
    return 3;
}
