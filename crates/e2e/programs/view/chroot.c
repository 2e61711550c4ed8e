// expect: ok
// why: the classic way out of a root: a root inside the root, then upwards from outside of it
#include "../hostile.h"
int main(void) {
    mkdir("jail", 0700);
    MUST_FAIL("chroot", chroot("jail"));
    MUST_FAIL("chroot /", chroot("/"));
    return 0;
}
