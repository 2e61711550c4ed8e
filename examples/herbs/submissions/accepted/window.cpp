#include "harvest.h"

#include <algorithm>
#include <vector>

long long harvest(const int *leaves, int beds, int k) {
    std::vector<long long> best(beds + 1);
    for (int i = 0; i < beds; i++) best[i + 1] = std::max(best[i], leaves[i] + best[std::max(i - k, 0)]);
    return best[beds];
}
