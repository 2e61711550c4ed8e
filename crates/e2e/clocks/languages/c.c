#include <stdio.h>
#include <stdlib.h>
static int less(const void *a, const void *b) { return *(const int *)a < *(const int *)b ? -1 : 1; }
int main(void) {
    int n = 60000, *a = malloc(n * sizeof *a), *seen = calloc(1000, sizeof *seen);
    unsigned s = 1;
    for (int i = 0; i < n; i++) { s = s * 1103515245u + 12345u; a[i] = s >> 8; seen[a[i] % 1000]++; }
    qsort(a, n, sizeof *a, less);
    printf("%d %d\n", a[n / 2], seen[7]);
}
