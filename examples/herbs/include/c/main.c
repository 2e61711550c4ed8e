#include <stdio.h>
#include <stdlib.h>

#include "harvest.h"

int main(int argc, char **argv) {
    static int leaves[300];
    int beds, stretches;
    FILE *file = fopen("beds.txt", "r");
    if (argc != 2 || file == NULL || fscanf(file, "%d", &beds) != 1) return 1;
    for (int i = 0; i < beds; i++)
        if (fscanf(file, "%d", &leaves[i]) != 1) return 1;
    fclose(file);
    if (scanf("%d", &stretches) != 1) return 1;
    while (stretches-- > 0) {
        int first, last;
        if (scanf("%d %d", &first, &last) != 2) return 1;
        long long picked = harvest(leaves + first - 1, last - first + 1, atoi(argv[1]));
        printf("%lld\n", picked < {{basket}} ? picked : {{basket}});
    }
    return 0;
}
