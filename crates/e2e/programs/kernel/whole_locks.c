// run: --memory 16M --processes 32
// expect: ok|memory_limit
// host: 48M
// bare_host: 128M
// why: locks and leases of whole files, one for each descriptor, on as many files as there is room for
#include <sys/file.h>
#include "../many.h"
static void make(int child) {
    char name[32];
    for (int i = 0;; i++) {
        snprintf(name, sizeof name, "f%d-%d", child, i);
        int fd = open(name, O_CREAT | O_RDONLY, 0600);
        if (fd < 0) {
            if (errno != EMFILE) return;
            // What is left of a lock stays with the file.
            for (int old = 3; old < 200; old++) close(old);
            continue;
        }
        flock(fd, LOCK_SH);
        fcntl(fd, F_SETLEASE, F_RDLCK);
    }
}
int main(void) { return many(16, 0.6, make); }
