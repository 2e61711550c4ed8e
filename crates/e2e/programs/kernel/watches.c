// run: --memory 16M --processes 32
// expect: ok|memory_limit
// host: 48M
// bare_host: 128M
// why: watches and events of inotify, watched directories, and what epoll looks after
#include <sys/epoll.h>
#include <sys/inotify.h>
#include "../many.h"
static void make(int child) {
    char name[300];
    int watch = inotify_init1(IN_NONBLOCK), directory = open(".", O_RDONLY), epolls[100];
    signal(SIGIO, SIG_IGN);
    memset(name, 'n', sizeof name);
    for (int i = 0; i < 4000; i++) {
        snprintf(name + 200, 40, "%d-%d", child, i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || close(fd)) break;
        inotify_add_watch(watch, name, IN_ALL_EVENTS);
        if (i % 8 == 0) inotify_add_watch(watch, ".", IN_ALL_EVENTS);
        fcntl(directory, F_NOTIFY, DN_CREATE | DN_MULTISHOT);
    }
    for (int i = 0; i < 100; i++) epolls[i] = epoll_create1(0);
    int ends[2];
    while (!pipe(ends))
        for (int i = 0; i < 100; i++) {
            struct epoll_event interest = {.events = EPOLLIN};
            epoll_ctl(epolls[i], EPOLL_CTL_ADD, ends[0], &interest);
        }
}
int main(void) { return many(12, 0.4, make); }
