#include "harvest.h"

#include "row.hpp"

long long harvest(const int *leaves, int beds, int k) {
    Row row(beds);
    for (int i = 0; i < beds; i++) row.offer(leaves[i], k);
    return row.best();
}
