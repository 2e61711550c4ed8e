// expect: signalled
// check: signal == 6
// why: abort as libraries do it
#include <stdlib.h>
int main(void) {
    abort();
}
