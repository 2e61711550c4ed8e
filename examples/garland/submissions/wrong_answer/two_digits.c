#include <math.h>
#include <stdio.h>

int main(void) {
    int count;
    if (scanf("%d", &count) != 1) return 1;
    while (count-- > 0) {
        double d, length, low = 1e-9, high = 10;
        if (scanf("%lf %lf", &d, &length) != 2) return 1;
        for (int step = 0; step < 100; step++) {
            double u = (low + high) / 2;
            if (sinh(u) / u < length / d) low = u;
            else high = u;
        }
        printf("%.2f\n", d / low * pow(sinh(low / 2), 2));
    }
    return 0;
}
