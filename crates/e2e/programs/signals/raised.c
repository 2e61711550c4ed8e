// args: 1
// args: 2
// args: 3
// args: 4
// args: 5
// args: 6
// args: 7
// args: 8
// args: 9
// args: 10
// args: 11
// args: 12
// args: 13
// args: 14
// args: 15
// args: 31
// args: 34
// args: 64
// expect: signalled
// check: signal == {arg}
// check: exit_code == null
// why: a program that kills itself is reported with its own signal, also where it is the first of its namespace
#include "../hostile.h"
int main(int argc, char **argv) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (argc < 2) broken("no signal given");
    kill(getpid(), atoi(argv[1]));
    nap(1);
    return 0;
}
