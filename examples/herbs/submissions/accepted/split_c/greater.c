#include "greater.h"

long long greater(long long a, long long b) {
    return a > b ? a : b;
}
