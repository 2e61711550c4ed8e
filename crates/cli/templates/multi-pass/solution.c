#include <stdio.h>
#include <string.h>

int main(void) {
    char word[8], text[32];
    if (scanf("%7s %31s", word, text) != 2) return 1;
    int shift = strcmp(word, "send") == 0 ? 'a' - '0' : '0' - 'a';
    for (char *c = text; *c; c++) *c += shift;
    puts(text);
    return 0;
}
