// run: --output 1M --processes 16
// expect: output_limit
// check: output_bytes <= 4*output
// why: eight children flood the same output
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 8; i++)
        if (spawn() == 0) {
            pour(1, 32 * MIB, 4096);
            _exit(0);
        }
    int worst = 0, status;
    while (wait(&status) > 0)
        if (status) worst = status;
    if (WIFSIGNALED(worst)) raise(WTERMSIG(worst));
    return WEXITSTATUS(worst);
}
