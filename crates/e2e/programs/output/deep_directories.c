// run: --memory 64M --cpu-time 2 --wall-time 20
// expect: ok|memory_limit|output_limit|nonzero_exit|cpu_time_limit
// check: memory_peak_bytes <= 68000000
// why: directories within directories beyond any path length: clearing up must not recurse or use paths
#include "../hostile.h"
int main(void) {
    char name[201];
    memset(name, 'd', 200);
    name[200] = 0;
    for (int i = 0; i < 100000; i++) {
        if (mkdir(name, 0700) || chdir(name)) return 0;
    }
    breach("a hundred thousand directories");
}
