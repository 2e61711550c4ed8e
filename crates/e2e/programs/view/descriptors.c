// stdio: inherit
// expect: ok
// why: descriptors above 2, ours or the caller's, write to what they lead to: none may be open
#include "../hostile.h"
int main(void) {
    for (int fd = 3; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) < 0) continue;
        char path[64], target[PATH_MAX] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) < 0) target[0] = 0;
        if (write(fd, "breach\n", 7) == 7) breach("descriptor %d is open and was written: %s", fd, target);
        breach("descriptor %d is open: %s", fd, target);
    }
    syscall(SYS_close_range, 3, ~0U, 0);
    return 0;
}
