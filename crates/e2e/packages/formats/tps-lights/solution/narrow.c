#include "lights.h"

void measure(int count, const int *lamps, long long *total, int *brightest) {
    unsigned sum = 0;
    for (int i = 0; i < count; i++) {
        sum += (unsigned)lamps[i];
        if (lamps[i] > *brightest)
            *brightest = lamps[i];
    }
    *total = sum;
}
