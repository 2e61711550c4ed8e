// run: --memory 256M
// expect: ok
// why: touches 64 MiB and says on which memory nodes its anonymous pages lie
#include "../hostile.h"

enum { NODES = 64 };

// Adds up a line of numa_maps, numa(7): `ADDRESS POLICY anon=PAGES … N0=PAGES N1=PAGES kernelpagesize_kB=SIZE`.
static void add(char *line, long kib[NODES]) {
    char *size = strstr(line, "kernelpagesize_kB=");
    long page = size ? atol(size + strlen("kernelpagesize_kB=")) : 4;
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
        int node;
        long pages;
        if (sscanf(word, "N%d=%ld", &node, &pages) == 2 && node >= 0 && node < NODES)
            kib[node] += pages * page;
    }
}

int main(void) {
    static char line[8192];
    long kib[NODES] = {0};
    touch(map(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS), 64 * MIB);
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, " anon=") && !strstr(line, " file="))
            add(line, kib);
    for (int node = 0; node < NODES; node++)
        if (kib[node])
            printf("node %d: %ld KiB\n", node, kib[node]);
    return 0;
}
