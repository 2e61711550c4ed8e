// args: {tcp_port}
// expect: ok
// why: a server of the host on 127.0.0.1
#include <arpa/inet.h>
#include <netinet/in.h>
#include "../hostile.h"
static int reach(const char *host, int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval soon = {0, 200000};
    inet_pton(AF_INET, host, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    return connect(fd, (struct sockaddr *)&to, sizeof to);
}
int main(int argc, char **argv) {
    int port = argc > 1 ? atoi(argv[1]) : 0;
    if (!port) broken("no port given");
    MUST_FAIL("127.0.0.1", reach("127.0.0.1", port));
    MUST_FAIL("0.0.0.0", reach("0.0.0.0", port));
    MUST_FAIL("127.1.2.3", reach("127.1.2.3", port));
    MUST_FAIL("169.254.169.254", reach("169.254.169.254", 80));
    return 0;
}
