// expect: ok
// why: netlink must neither change anything nor hear the host's events, devices that come and go among them
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include "../hostile.h"
static int add_link(void) {
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
    } request = {{sizeof request, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0}, {.ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP}};
    char answer[4096];
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (fd < 0 || send(fd, &request, sizeof request, 0) < 0) return -1;
    if (recv(fd, answer, sizeof answer, 0) <= 0) return -1;
    struct nlmsghdr *header = (struct nlmsghdr *)answer;
    if (header->nlmsg_type != NLMSG_ERROR) return -1;
    errno = -((struct nlmsgerr *)NLMSG_DATA(header))->error;
    return errno ? -1 : 0;
}
static int hear(int protocol) {
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
    return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
}
int main(void) {
    MUST_FAIL("link set up", add_link());
    MUST_FAIL("audit events", hear(NETLINK_AUDIT));
    MUST_FAIL("device events", hear(NETLINK_KOBJECT_UEVENT));
    MUST_FAIL("any socket", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    return 0;
}
