#include <stdio.h>

int main(void) {
    char answer[8];
    for (int guess = 1; guess <= 10; guess++) {
        printf("%d ", guess);
        if (scanf("%7s", answer) != 1)
            break;
    }
    return 0;
}
