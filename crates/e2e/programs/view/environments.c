// expect: ok
// why: the caller's environment, in which a secret stands, in our own and in every process we can see
#include "../hostile.h"
extern char **environ;
int main(void) {
    static char text[1 << 20];
    for (char **entry = environ; *entry; entry++)
        if (strstr(*entry, "TAUTO_E2E_SECRET")) breach("the caller's environment came along");
    for (int pid = 0; pid < 100; pid++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/environ", pid);
        int fd = open(path, O_RDONLY);
        if (fd < 0) continue;
        ssize_t n = read(fd, text, sizeof text);
        if (n > 0 && memmem(text, (size_t)n, "TAUTO_E2E_SECRET", 16)) breach("%s shows the caller's environment", path);
        close(fd);
    }
    return 0;
}
