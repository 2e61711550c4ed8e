// Adds up an array with several threads. Where the array's pages lie is decided by who writes them first:
//
//     sum serial|parallel|recycled|interleave|bind|move [THREADS] [MIB] [ROUNDS]
//
//   serial      one thread writes the array before the others read it: all of it lies on that thread's node
//   parallel    every thread first writes the part that it will read
//   recycled    as parallel, but in memory that one thread had written and freed before: calloc clears what comes from the heap
//               again by itself, in that thread, so that the parallel loop comes too late
//   interleave  pages in turn on all nodes, whoever writes them
//   bind        all pages on the last node
//   move        serial; then half of the pages are moved to the last node
//
// Threads are bound as OMP_PROC_BIND and OMP_PLACES say; it binds them itself, evenly over all CPUs, if those are not set.
//
// cc -O2 -fopenmp sum.c -o sum
#define _GNU_SOURCE
#include <malloc.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BIND = 2, INTERLEAVE = 3, MOVE = 2 };

static long nodes(void) {
    long n = 0;
    char path[64];
    do
        snprintf(path, sizeof path, "/sys/devices/system/node/node%ld", n);
    while (access(path, F_OK) == 0 && ++n);
    return n ? n : 1;
}

static void policy(int mode, unsigned long mask) {
    if (syscall(SYS_set_mempolicy, mode, &mask, sizeof mask * 8))
        perror("set_mempolicy");
}

// Thread n of the team goes to CPU n, counted over the CPUs that this process may use.
static void place(void) {
    if (getenv("OMP_PROC_BIND") || getenv("OMP_PLACES"))
        return;
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    int cpus = CPU_COUNT(&all), threads = omp_get_max_threads();
#pragma omp parallel
    {
        int wanted = omp_get_thread_num() * cpus / threads, seen = 0;
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &all) && seen++ == wanted) {
                cpu_set_t own;
                CPU_ZERO(&own);
                CPU_SET(cpu, &own);
                sched_setaffinity(0, sizeof own, &own);
            }
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "serial";
    if (argc > 2)
        omp_set_num_threads(atoi(argv[2]));
    size_t n = (argc > 3 ? atol(argv[3]) : 256) << 20, rounds = argc > 4 ? atol(argv[4]) : 40;
    n /= sizeof(double);
    // Before there are threads, which inherit it.
    if (strcmp(how, "interleave") == 0)
        policy(INTERLEAVE, (1ul << nodes()) - 1);
    if (strcmp(how, "bind") == 0)
        policy(BIND, 1ul << (nodes() - 1));
    place();
    if (strcmp(how, "recycled") == 0) {
        // So that what is freed stays with this process.
        mallopt(M_MMAP_THRESHOLD, 2147483647);
        mallopt(M_TRIM_THRESHOLD, 2147483647);
        double *before = malloc(n * sizeof *before);
        memset(before, 1, n * sizeof *before);
        // A compiler that sees through it would leave all of it out.
        __asm__ volatile("" : : "r"(before) : "memory");
        free(before);
    }
    double *a = calloc(n, sizeof *a), sum = 0;
    if (!a)
        return 1;
    if (strcmp(how, "serial") == 0 || strcmp(how, "move") == 0)
        for (size_t i = 0; i < n; i++)
            a[i] = 1;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = 1;
    if (strcmp(how, "move") == 0) {
        char *page = (char *)(((size_t)a + 4095) & ~4095ul), *end = (char *)(a + n / 2);
        int to = nodes() - 1;
        usleep(300000);
        for (; page < end; page += 4096) {
            void *one = page;
            int status;
            syscall(SYS_move_pages, 0, 1, &one, &to, &status, MOVE);
        }
    }
    double start = now();
    for (size_t r = 0; r < rounds; r++)
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (size_t i = 0; i < n; i++)
            sum += a[i];
    printf("%d threads, %s: %.3f s, sum %.0f\n", omp_get_max_threads(), how, now() - start, sum);
    return 0;
}
