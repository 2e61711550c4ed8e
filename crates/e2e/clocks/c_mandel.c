// Mandelbrot set membership count in double precision.
#include <stdio.h>

int main(void) {
    const int w = 1800, h = 1300, limit = 400;
    long long iterations = 0;
    int inside = 0;
    for (int py = 0; py < h; py++)
        for (int px = 0; px < w; px++) {
            double cx = -2.2 + 3.2 * px / w, cy = -1.2 + 2.4 * py / h;
            double x = 0, y = 0;
            int n = 0;
            while (n < limit && x * x + y * y <= 4.0) {
                double t = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = t;
                n++;
            }
            iterations += n;
            inside += n == limit;
        }
    printf("%d %lld\n", inside, iterations);
    return 0;
}
