// expect: ok
// why: a new name, title and command line for the eyes of whoever looks for it by name
#include "../hostile.h"
int main(int argc, char **argv) {
    (void)argc;
    prctl(PR_SET_NAME, "a) R 1 1 1 (b\n");
    memset(argv[0], '\n', strlen(argv[0]));
    if (spawn() == 0) {
        setsid();
        prctl(PR_SET_NAME, "kworker/0:0");
        sleep_for_ever();
    }
    return 0;
}
