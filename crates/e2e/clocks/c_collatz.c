// Longest Collatz chain below a limit, no memo table.
#include <stdio.h>

int main(void) {
    int best = 0, arg = 0;
    unsigned long long total = 0;
    for (int i = 1; i < 2300000; i++) {
        unsigned long long x = i;
        int steps = 0;
        while (x != 1) {
            if (x % 2 == 0) x /= 2;
            else x = 3 * x + 1;
            steps++;
        }
        total += steps;
        if (steps > best) {
            best = steps;
            arg = i;
        }
    }
    printf("%d %d %llu\n", arg, best, total);
    return 0;
}
