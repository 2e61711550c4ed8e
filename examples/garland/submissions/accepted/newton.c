/* Newton's method; prints in scientific notation. */
#include <math.h>
#include <stdio.h>

int main(void) {
    int count;
    if (scanf("%d", &count) != 1) return 1;
    while (count-- > 0) {
        double d, length;
        if (scanf("%lf %lf", &d, &length) != 2) return 1;
        double ratio = length / d, u = sqrt(6 * (ratio - 1)) + 1e-9;
        for (int step = 0; step < 60; step++) u -= (sinh(u) - ratio * u) / (cosh(u) - ratio);
        printf("%.12e\n", d / u * pow(sinh(u / 2), 2));
    }
    return 0;
}
