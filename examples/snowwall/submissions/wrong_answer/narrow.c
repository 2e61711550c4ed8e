/* Right as long as the numbers fit 32 bits. */
#include <stdint.h>
#include <stdio.h>

int main(void) {
    int days;
    if (scanf("%d", &days) != 1) return 1;
    while (days-- > 0) {
        long long read;
        if (scanf("%lld", &read) != 1) return 1;
        uint32_t n = (uint32_t)read, rows = 0;
        while (n > rows) n -= ++rows;
        printf("%u %u\n", (unsigned)rows, (unsigned)n);
    }
    return 0;
}
