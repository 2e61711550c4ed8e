#include <cstdio>

#include "twice.h"

int main() {
    long n;
    std::scanf("%ld", &n);
    std::printf("%ld\n", twice(n));
}
