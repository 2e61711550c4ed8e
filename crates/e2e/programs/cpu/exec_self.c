// run: --cpu-time 0.3
// expect: cpu_time_limit
// why: executes itself again and again; start-up is never the program's, but only once
#include "../hostile.h"
int main(int argc, char **argv) {
    (void)argc;
    burn(0.002);
    execv(argv[0], argv);
    execv("/proc/self/exe", argv);
    broken("execv");
}
