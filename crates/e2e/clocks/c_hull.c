// Convex hulls of integer points with qsort, their areas and diameters by rotating calipers.
#include <stdio.h>
#include <stdlib.h>

#define N 60000
typedef struct { long long x, y; } P;
static P p[N], h[2 * N];

static int by_xy(const void *a, const void *b) {
    const P *u = a, *v = b;
    if (u->x != v->x) return u->x < v->x ? -1 : 1;
    return (u->y > v->y) - (u->y < v->y);
}

static long long cross(P a, P b, P c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }
static long long dist(P a, P b) { return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y); }

int main(void) {
    unsigned long long s = 77, hash = 0;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < N;) {
            s = s * 6364136223846793005ULL + 1442695040888963407ULL;
            p[i].x = (long long)(s >> 44) - (1 << 19);
            p[i].y = (long long)(s >> 20 & 0xFFFFF) - (1 << 19);
            if (round % 2 || p[i].x * p[i].x + p[i].y * p[i].y < 1LL << 38) i++;
        }
        qsort(p, N, sizeof *p, by_xy);
        int k = 0;
        for (int i = 0; i < N; i++) {
            while (k >= 2 && cross(h[k - 2], h[k - 1], p[i]) <= 0) k--;
            h[k++] = p[i];
        }
        for (int i = N - 2, t = k + 1; i >= 0; i--) {
            while (k >= t && cross(h[k - 2], h[k - 1], p[i]) <= 0) k--;
            h[k++] = p[i];
        }
        k--;
        long long area = 0, best = 0;
        for (int i = 0, j = 1; i < k; i++) {
            area += h[i].x * h[(i + 1) % k].y - h[i].y * h[(i + 1) % k].x;
            while (cross(h[i], h[(i + 1) % k], h[(j + 1) % k]) > cross(h[i], h[(i + 1) % k], h[j])) j = (j + 1) % k;
            if (dist(h[i], h[j]) > best) best = dist(h[i], h[j]);
        }
        hash = hash * 1000003 + area * 31 + best + k;
    }
    printf("%llu\n", hash);
    return 0;
}
