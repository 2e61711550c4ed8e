// Counting primes by trial division, compiled without optimisation.
#include <stdio.h>

static int is_prime(int n) {
    if (n < 2) return 0;
    for (int d = 2; d * d <= n; d++)
        if (n % d == 0) return 0;
    return 1;
}

int main(void) {
    int count = 0;
    long long sum = 0;
    for (int i = 0; i < 2400000; i++)
        if (is_prime(i)) {
            count++;
            sum += i;
        }
    printf("%d %lld\n", count, sum);
    return 0;
}
