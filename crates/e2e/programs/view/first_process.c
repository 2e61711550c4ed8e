// expect: ok
// why: memory, root, descriptors and executable of the namespace's first process
#include "../hostile.h"
int main(void) {
    const char *names[] = {"mem", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5", "root/etc", "cwd/.", "exe", "maps", "syscall", "stack", "auxv", "environ"};
    pid_t others[] = {1, getppid()}, self = getpid();
    for (int i = 0; i < 2; i++) {
        if (others[i] == self || others[i] == 0) continue;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char path[64];
            snprintf(path, sizeof path, "/proc/%d/%s", others[i], names[k]);
            MUST_FAIL(path, open_for(path, O_RDONLY));
        }
    }
    return 0;
}
