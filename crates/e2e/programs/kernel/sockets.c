// run: --memory 16M --processes 32
// expect: ok|memory_limit
// host: 48M
// why: sockets with names, connections that wait to be accepted, and sockets that are under way in one another
#include "../many.h"
static void send_away(int through, int fd) {
    char room[CMSG_SPACE(sizeof fd)] = {0}, byte = 0;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    sendmsg(through, &message, MSG_DONTWAIT);
}
static void under_way(void) {
    int ends[2];
    for (int i = 0; i < 100000 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, ends); i++) {
        send_away(ends[0], ends[1]);
        send_away(ends[1], ends[0]);
        close(ends[0]);
        close(ends[1]);
    }
}
static void make(int child) {
    if (child % 2) under_way();
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof name;
    int server = socket(AF_UNIX, SOCK_STREAM, 0), fd;
    if (server < 0 || bind(server, (struct sockaddr *)&name, sizeof(sa_family_t)) || listen(server, 1 << 20)) return;
    if (getsockname(server, (struct sockaddr *)&name, &size)) return;
    for (int i = 0; i < 100000 && (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0; i++) {
        struct sockaddr_un own = {.sun_family = AF_UNIX};
        bind(fd, (struct sockaddr *)&own, sizeof(sa_family_t));
        if (connect(fd, (struct sockaddr *)&name, size)) break;
        if (i % 4) close(fd);
    }
}
int main(void) { return many(12, 0.4, make); }
