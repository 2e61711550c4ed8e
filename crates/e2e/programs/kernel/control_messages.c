// run: --memory 64M --processes 1000
// expect: ok|memory_limit
// host: 96M
// why: the control data of a message that waits to be sent is charged to nobody while its sender sleeps
#include "../many.h"
static char control[131072 - 512], byte;
static struct iovec vector = {&byte, 1};
static struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control};
static void *wait_to_send(void *ends) {
    while (sendmsg(*(int *)ends, &message, 0) > 0) {
    }
    return NULL;
}
static void make(int child) {
    (void)child;
    static int ends[128][2];
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    for (int i = 0, least = 1; i < 120 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, ends[i]); i++) {
        setsockopt(ends[i][0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
        if (pthread_create(&thread, &small, wait_to_send, ends[i])) return;
    }
}
int main(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) broken("socketpair");
    // As much as the system takes.
    for (size_t size = sizeof control; size > 64; size /= 2) {
        *(struct cmsghdr *)control = (struct cmsghdr){message.msg_controllen = size, 12345, 0};
        if (sendmsg(ends[0], &message, 0) > 0) return many(8, 0.8, make);
    }
    broken("sendmsg");
}
