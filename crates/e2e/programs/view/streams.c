// args: {tmp_file}
// expect: ok
// why: the directory of its own streams' files: nothing can be reached from them
#include "../hostile.h"
int main(void) {
    for (int fd = 0; fd < 3; fd++) {
        char path[64];
        struct stat facts;
        if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) breach("descriptor %d is a directory", fd);
        snprintf(path, sizeof path, "/proc/self/fd/%d/..", fd);
        MUST_FAIL(path, access(path, F_OK));
    }
    MUST_FAIL("read of own output", lseek(1, 0, SEEK_SET) < 0 ? -1 : pread(1, &(char){0}, 1, 0) == 1 ? 0 : -1);
    return 0;
}
