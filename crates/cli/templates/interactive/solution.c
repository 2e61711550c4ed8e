#include <stdio.h>
#include <string.h>

int main(void) {
    int least = 1, most = 1000;
    char answer[16];
    while (least <= most) {
        int middle = (least + most) / 2;
        printf("%d\n", middle);
        fflush(stdout);
        if (scanf("%15s", answer) != 1 || strcmp(answer, "correct") == 0) return 0;
        if (strcmp(answer, "lower") == 0) most = middle - 1;
        else least = middle + 1;
    }
    return 1;
}
