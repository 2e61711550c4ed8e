// run: --output 1M --cpu-time 2 --wall-time 4
// stdio: pipe
// expect: output_limit|signalled|nonzero_exit|cpu_time_limit|wall_time_limit|ok
// why: floods a pipe whose reader keeps up: the sandbox stores nothing and the reader decides
#include "../hostile.h"
int main(void) {
    pour(1, 64 * MIB, 65536);
    return 0;
}
