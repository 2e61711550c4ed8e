// run: --cpu-time 8 --wall-time 20
// expect: ok
// why: not one file below /sys and /proc (our own process aside) can be opened for writing
#include <ftw.h>
#include "../hostile.h"
static int visit(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)where;
    if (strncmp(path, "/proc/", 6) == 0 && (strchr("0123456789", path[6]) || strncmp(path + 6, "self", 4) == 0 || strncmp(path + 6, "thread-self", 11) == 0)) return FTW_SKIP_SUBTREE;
    if (kind != FTW_F || !S_ISREG(facts->st_mode)) return FTW_CONTINUE;
    if (write_back(path) >= 0) breach("%s can be written", path);
    return FTW_CONTINUE;
}
int main(void) {
    nftw("/sys", visit, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    nftw("/proc", visit, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    return 0;
}
