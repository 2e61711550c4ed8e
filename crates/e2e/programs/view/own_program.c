// expect: ok
// why: the program's own file, as the next run or the next contestant will execute it
#include "../hostile.h"
int main(int argc, char **argv) {
    (void)argc;
    MUST_FAIL("/proc/self/exe", open_for("/proc/self/exe", O_RDWR));
    MUST_FAIL(argv[0], open_for(argv[0], O_RDWR));
    MUST_FAIL("unlink", unlink(argv[0]));
    MUST_FAIL("rename", rename(argv[0], "/tmp/other"));
    MUST_FAIL("chmod", chmod(argv[0], 0777));
    MUST_FAIL("truncate", truncate(argv[0], 0));
    return 0;
}
