/* The question stays in the buffer while the reply is awaited. */
#include <stdio.h>
#include <string.h>

static int louder(int board) {
    char word[16];
    printf("? %d\n", board);
    if (scanf("%15s", word) != 1) return 0;
    return strcmp(word, "louder") == 0;
}

int main(void) {
    int low = 1, high;
    if (scanf("%d", &high) != 1) return 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        louder(middle);
        if (louder(middle + 1)) low = middle + 1;
        else high = middle;
    }
    printf("! %d\n", low);
    return 0;
}
