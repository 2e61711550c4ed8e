// expect: ok
// check: exit_code == 0
// why: only eight bits of an exit code exist
#include <stdlib.h>
int main(void) {
    exit(256);
}
