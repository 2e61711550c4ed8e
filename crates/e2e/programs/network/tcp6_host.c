// args: {tcp6_port}
// expect: ok
// why: a server of the host on ::1
#include <netinet/in.h>
#include "../hostile.h"
static int reach(int port) {
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
}
int main(int argc, char **argv) {
    MUST_FAIL("::1", reach(argc > 1 ? atoi(argv[1]) : 0));
    return 0;
}
