// run: --memory 16M --processes 16
// expect: ok|memory_limit
// host: 48M
// why: error replies that nobody reads, on sockets whose buffers no group is charged for
#include <linux/netlink.h>
#include "../many.h"
static void make(int child) {
    (void)child;
    struct nlmsghdr requests[256];
    for (size_t i = 0; i < 256; i++) requests[i] = (struct nlmsghdr){sizeof *requests, 0x7fff, NLM_F_REQUEST | NLM_F_ACK, 1, 0};
    int fd, most = 64 << 20;
    while ((fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE)) >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &most, sizeof most);
        for (int i = 0; i < 200; i++)
            if (send(fd, requests, sizeof requests, 0) < 0) break;
    }
}
int main(void) { return many(8, 0.4, make); }
