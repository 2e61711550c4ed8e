/* Walks towards the answer in steps that are far too small. */
#include <math.h>
#include <stdio.h>

int main(void) {
    int count;
    if (scanf("%d", &count) != 1) return 1;
    while (count-- > 0) {
        double d, length, u = 1e-11;
        if (scanf("%lf %lf", &d, &length) != 2) return 1;
        while (sinh(u) / u < length / d) u += 1e-11;
        printf("%.9f\n", d / u * pow(sinh(u / 2), 2));
    }
    return 0;
}
