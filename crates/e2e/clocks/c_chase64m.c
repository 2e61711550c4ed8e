// Linked list walk in random order through 64 MB.
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

typedef struct Node { struct Node *next; uint64_t value[7]; } Node;

int main(void) {
    const uint32_t n = 1 << 20;
    Node *nodes = malloc(sizeof(Node) * n);
    uint32_t *order = malloc(sizeof(uint32_t) * n);
    uint64_t s = 1;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        uint32_t j = (s >> 33) % (i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (uint32_t i = 0; i < n; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % n]];
        nodes[order[i]].value[0] = i;
    }
    uint64_t h = 0;
    Node *p = nodes;
    for (int i = 0; i < 3000000; i++) {
        h = h * 3 + p->value[0];
        p = p->next;
    }
    printf("%llu\n", (unsigned long long)h);
    free(nodes);
    free(order);
    return 0;
}
