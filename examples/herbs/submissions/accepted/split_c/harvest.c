#include "harvest.h"

#include "greater.h"

long long harvest(const int *leaves, int beds, int k) {
    long long best[301] = {0};
    for (int i = 0; i < beds; i++) best[i + 1] = greater(best[i], leaves[i] + best[i > k ? i - k : 0]);
    return best[beds];
}
