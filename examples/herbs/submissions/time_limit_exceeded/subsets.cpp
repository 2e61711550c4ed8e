#include "harvest.h"

#include <algorithm>

long long harvest(const int *leaves, int beds, int k) {
    if (beds <= 0) return 0;
    return std::max(harvest(leaves + 1, beds - 1, k), leaves[0] + harvest(leaves + k + 1, beds - k - 1, k));
}
