#include <math.h>
#include <stdint.h>
#include <stdio.h>

int main(void) {
    int days;
    if (scanf("%d", &days) != 1) return 1;
    while (days-- > 0) {
        int64_t n;
        if (scanf("%lld", (long long *)&n) != 1) return 1;
        int64_t rows = (int64_t)sqrt(2.0 * (double)n);
        while (rows * (rows + 1) / 2 > n) rows--;
        while ((rows + 1) * (rows + 2) / 2 <= n) rows++;
        printf("%lld %lld\n", (long long)rows, (long long)(n - rows * (rows + 1) / 2));
    }
    return 0;
}
