#include "harvest.h"

long long harvest(const int *leaves, int beds, int k) {
    return 0;
}
