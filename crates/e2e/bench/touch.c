// Touches 1 GiB, split over as many processes as the first argument says.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int processes = argc > 1 ? atoi(argv[1]) : 1;
    size_t share = ((size_t)1 << 30) / processes;
    for (int i = 1; i < processes; i++)
        if (fork() == 0) break;
    volatile char *p = malloc(share);
    if (!p) return 3;
    for (size_t i = 0; i < share; i += 4096) p[i] = 1;
    pause();
    return 0;
}
