// expect: ok
// why: processes of others are not visible: at most our own and the sandbox's first process
#include "../hostile.h"
int main(void) {
    int seen = 0;
    DIR *directory = opendir("/proc");
    if (!directory) return 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') seen++;
    if (seen > 3) breach("%d processes are visible", seen);
    return 0;
}
