// expect: ok
// why: prints how many Unix sockets there are, and leaves some that only refer to each other, closed by eight processes at once
#include "../hostile.h"

// A pair of sockets in transit over itself: once closed, only its own message refers to it.
static void circle(void) {
    int pair[2];
    char data = 0, space[CMSG_SPACE(sizeof pair)] = {0};
    struct iovec bytes = {&data, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof pair)};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
    memcpy(CMSG_DATA(head), pair, sizeof pair);
    sendmsg(pair[0], &message, MSG_DONTWAIT);
}

int main(void) {
    char text[1 << 16];
    int fd = open("/proc/self/net/unix", O_RDONLY), lines = 0;
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    for (ssize_t i = 0; i < n; i++) lines += text[i] == '\n';
    printf("%d sockets\n", lines - 1);
    fflush(stdout);
    for (int i = 0; i < 8; i++)
        if (spawn() == 0) {
            for (int j = 0; j < 12; j++) circle();
            sleep_for_ever();
        }
    usleep(20000);
    return 0;
}
