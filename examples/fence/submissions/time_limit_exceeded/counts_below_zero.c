/* An unsigned number is never less than zero. */
#include <stdio.h>

int main(void) {
    unsigned long long n, other = 1, blue = 0;
    if (scanf("%llu", &n) != 1) return 1;
    for (volatile unsigned long long plank = n - 1; plank >= 0; plank--) {
        unsigned long long next = 2 * (other + blue) % 1000000007;
        blue = other;
        other = next;
    }
    printf("%llu\n", other + blue);
    return 0;
}
