// expect: ok
// why: types commands into the caller's terminal, which the caller's shell executes afterwards
#include "../hostile.h"
int main(void) {
    for (int fd = 0; fd < 3; fd++) {
        MUST_FAIL("TIOCSTI", ioctl(fd, TIOCSTI, "\n"));
        MUST_FAIL("TIOCSTI with high bits", syscall(SYS_ioctl, (long)fd, 0xff00000000000000L | TIOCSTI, "\n"));
        MUST_FAIL("TIOCLINUX", ioctl(fd, TIOCLINUX, "\3"));
        MUST_FAIL("TIOCSCTTY", ioctl(fd, TIOCSCTTY, 0));
    }
    MUST_FAIL("/dev/tty", open_for("/dev/tty", O_RDWR));
    return 0;
}
