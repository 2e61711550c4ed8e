// run: --memory 16M --processes 32
// expect: ok|memory_limit
// host: 48M
// why: what a descriptor is of: dead processes, files without a name and their attributes, large pipes, tables of /proc, triggers of pressure
#include <sys/xattr.h>
#include "../many.h"
static void make(int child) {
    char value[4000] = {0}, name[32];
    for (int i = 0; i < 200; i++) {
        int fd = -1;
        if (child % 4 == 0) {
            pid_t pid = fork();
            if (pid == 0) _exit(0);
            if (pid > 0) fd = (int)syscall(SYS_pidfd_open, pid, 0), waitpid(pid, NULL, 0);
        } else if (child % 4 == 1) {
            fd = (int)syscall(SYS_memfd_create, "m", 0);
            for (int x = 0; x < 100; x++) snprintf(name, sizeof name, "user.%d", x), fsetxattr(fd, name, value, sizeof value, 0);
            if (fallocate(fd, 0, (off_t)i << 30, 1)) close(fd);
        } else if (child % 4 == 2) {
            int ends[2];
            if (!pipe(ends)) fcntl(fd = ends[0], F_SETPIPE_SZ, 1 << 20);
        } else {
            fd = open("/proc/pressure/cpu", O_RDWR);
            if (fd >= 0) write(fd, "some 500000 2000000", 20);
            fd = open("/proc/self/mountinfo", O_RDONLY);
            if (fd >= 0) read(fd, value, sizeof value);
        }
        if (fd < 0 && errno == EMFILE) break;
    }
}
int main(void) { return many(24, 0.4, make); }
