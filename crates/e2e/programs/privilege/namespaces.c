// expect: ok
// why: new namespaces, above all a user namespace, which opens much of the kernel to whoever makes it
#include <linux/sched.h>
#include "../hostile.h"
static long clone_with(unsigned long flags) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    return pid;
}
static long clone3_with(unsigned long flags) {
    struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) _exit(0);
    return pid;
}
int main(void) {
    const struct {
        const char *name;
        unsigned long flag;
    } kinds[] = {{"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID}, {"network", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC},
                 {"uts", CLONE_NEWUTS}, {"cgroup", CLONE_NEWCGROUP}, {"user and mount", CLONE_NEWUSER | CLONE_NEWNS}, {"user and network", CLONE_NEWUSER | CLONE_NEWNET}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        MUST_FAIL(kinds[i].name, unshare((int)kinds[i].flag));
        MUST_FAIL(kinds[i].name, clone_with(kinds[i].flag));
        MUST_FAIL(kinds[i].name, clone3_with(kinds[i].flag));
    }
    return 0;
}
