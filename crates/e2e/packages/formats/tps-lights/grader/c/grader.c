#include "lights.h"
#include <stdio.h>

int main(void) {
    static int lamps[1000];
    int count, brightest = 0;
    long long total = 0;
    if (scanf("%d", &count) != 1)
        return 1;
    for (int i = 0; i < count; i++)
        if (scanf("%d", &lamps[i]) != 1)
            return 1;
    measure(count, lamps, &total, &brightest);
    printf("%lld %d\n", total, brightest);
    return 0;
}
