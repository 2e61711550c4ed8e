// expect: ok
// why: directories that nobody may read or enter are left behind: clearing up must manage all the same
#include "../hostile.h"
int main(void) {
    if (mkdir("closed", 0700) || mkdir("closed/inner", 0700)) broken("mkdir");
    int fd = open("closed/inner/file", O_WRONLY | O_CREAT, 0);
    if (fd < 0 || write(fd, "x", 1) != 1) broken("file");
    chmod("closed/inner", 0);
    chmod("closed", 0);
    chmod(".", 0);
    return 0;
}
