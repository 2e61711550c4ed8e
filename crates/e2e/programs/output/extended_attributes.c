// run: --memory 32M
// expect: ok|memory_limit|nonzero_exit
// check: memory_peak_bytes <= 36000000
// why: data in extended attributes is in no file size
#include <sys/xattr.h>
#include "../hostile.h"
int main(void) {
    static char value[60000];
    for (int file = 0; file < 4096; file++) {
        char name[32];
        snprintf(name, sizeof name, "file%d", file);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || fsetxattr(fd, "user.hoard", value, sizeof value, 0)) return 0;
        close(fd);
    }
    breach("240 MB of attributes");
}
