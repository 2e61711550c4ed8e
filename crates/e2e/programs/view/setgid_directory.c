// expect: ok
// why: leaves setuid and setgid files behind: nothing outside may ever execute or keep them
#include "../hostile.h"
int main(void) {
    int fd = open("s", O_WRONLY | O_CREAT, 0755);
    if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10) broken("write");
    fchmod(fd, 06755);
    fchmod(1, 06777);
    return 0;
}
