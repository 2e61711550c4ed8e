// args: {abstract}
// expect: ok
// why: a server of the host on an abstract name, which is in no file system
#include "../hostile.h"
static int reach(const char *name) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path + 1, name, sizeof to.sun_path - 2);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, (socklen_t)(sizeof to.sun_family + 1 + strlen(name)));
}
int main(int argc, char **argv) {
    if (argc < 2) broken("no name given");
    MUST_FAIL(argv[1], reach(argv[1]));
    return 0;
}
