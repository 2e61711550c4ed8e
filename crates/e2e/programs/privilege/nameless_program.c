// expect: ok
// why: executes a program that is in no file system: it has no more rights than its parent
#include "../hostile.h"
extern char **environ;
int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        MUST_FAIL("/etc/shadow", open_for("/etc/shadow", O_RDONLY));
        MUST_FAIL("unshare", unshare(CLONE_NEWUSER));
        return 0;
    }
    static char block[65536];
    int from = open("/proc/self/exe", O_RDONLY), to = (int)syscall(SYS_memfd_create, "nameless", 0);
    if (from < 0 || to < 0) return 0;
    for (ssize_t n; (n = read(from, block, sizeof block)) > 0;)
        if (write(to, block, (size_t)n) != n) return 0;
    char *arguments[] = {"nameless", "again", NULL};
    syscall(SYS_execveat, to, "", arguments, environ, AT_EMPTY_PATH);
    return 0;
}
