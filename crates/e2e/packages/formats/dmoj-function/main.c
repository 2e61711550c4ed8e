#include "twice.h"
#include <stdio.h>

int main(void) {
    int n;
    scanf("%d", &n);
    printf("%d\n", twice(n));
    return 0;
}
