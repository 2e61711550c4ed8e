// Knuth-Morris-Pratt counting of several patterns in a two-letter text.
#include <stdio.h>
#include <stdint.h>
#include <string.h>

#define N 16000000
static char text[N + 1];

static int count(const char *pat) {
    int m = strlen(pat), fail[64] = {0}, found = 0;
    for (int i = 1, k = 0; i < m; i++) {
        while (k && pat[i] != pat[k]) k = fail[k - 1];
        if (pat[i] == pat[k]) k++;
        fail[i] = k;
    }
    for (int i = 0, k = 0; i < N; i++) {
        while (k && text[i] != pat[k]) k = fail[k - 1];
        if (text[i] == pat[k]) k++;
        if (k == m) {
            found++;
            k = fail[k - 1];
        }
    }
    return found;
}

int main(void) {
    const char *pats[] = {"abaab", "aaaa", "abbabba", "bbab", "abababab", "baabaabaab"};
    uint32_t s = 3;
    for (int i = 0; i < N; i++) {
        s = s * 1664525u + 1013904223u;
        text[i] = (s >> 24) < 150 ? 'a' : 'b';
    }
    unsigned h = 0;
    for (int i = 0; i < 6; i++) h = h * 131 + count(pats[i]);
    printf("%u\n", h);
    return 0;
}
