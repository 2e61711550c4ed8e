// args: {udp_port}
// expect: ok
// why: a datagram to the host; whether it arrived is for the harness to say
#include <netinet/in.h>
#include "../hostile.h"
int main(int argc, char **argv) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd >= 0) sendto(fd, "breach", 6, 0, (struct sockaddr *)&to, sizeof to);
    to.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    int on = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
    if (fd >= 0) sendto(fd, "breach", 6, 0, (struct sockaddr *)&to, sizeof to);
    return 0;
}
