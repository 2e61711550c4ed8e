// args: 1
// args: 3
// args: 42
// args: 127
// args: 128
// args: 137
// args: 255
// expect: nonzero_exit
// check: exit_code == {arg}
// check: signal == null
// why: every exit code comes back as it was, also those that a shell uses for signals
#include <stdlib.h>
int main(int argc, char **argv) {
    return argc > 1 ? atoi(argv[1]) : 66;
}
