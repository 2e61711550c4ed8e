// run: --cpu-time 4 --wall-time 10
// expect: ok
// why: moves to another control group or lifts its limits, wherever a group hierarchy is to be seen
#include <ftw.h>
#include "../hostile.h"
static int visit(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts;
    (void)where;
    if (kind == FTW_D && access(path, W_OK) == 0 && strncmp(path, "/sys/fs/cgroup", 14) == 0) breach("%s can be written", path);
    if (kind == FTW_F && strncmp(path, "/sys/fs/cgroup", 14) == 0 && open_for(path, O_WRONLY) >= 0) breach("%s can be written", path);
    return 0;
}
int main(void) {
    char line[1024], root[1024], at[1024], type[64];
    nftw("/sys/fs/cgroup", visit, 64, FTW_PHYS);
    FILE *mounts = fopen("/proc/self/mounts", "r");
    while (mounts && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%1023s %1023s %63s", root, at, type) == 3 && strncmp(type, "cgroup", 6) == 0) {
            char path[2048];
            snprintf(path, sizeof path, "%s/cgroup.procs", at);
            MUST_FAIL(path, open_for(path, O_WRONLY));
            snprintf(path, sizeof path, "%s/mine", at);
            MUST_FAIL(path, mkdir(path, 0700));
        }
    return 0;
}
