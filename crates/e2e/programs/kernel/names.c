// run: --memory 16M --processes 16
// expect: ok|memory_limit
// host: 48M
// why: each name that is looked up is remembered, whether or not there is such a file
#include "../many.h"
static void make(int child) {
    const char *places[] = {"/usr/bin", "/proc/self", "/tmp", "/usr/lib"};
    char path[256];
    for (int i = 0;; i++) {
        snprintf(path, sizeof path, "%s/%0200d-%d", places[child % 4], i, child);
        access(path, F_OK);
        if (child == 2) symlink(path, path + 1);
        snprintf(path, sizeof path, "/proc/%d/task/%d/ns/../fd/../net/dev", getpid(), getpid());
        access(path, F_OK);
    }
}
int main(void) { return many(8, 0.4, make); }
