// expect: ok
// why: leaves a mark on everything a later run could look at: files, devices, streams, locks, counters, names
#include <ftw.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <mqueue.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/xattr.h>
#include "../hostile.h"

static const struct timespec MARK[2] = {{1000000000, 42}, {1000000000, 43}};

static void mark_open(int fd) {
    uint64_t hint = 5;
    int flags = 0;
    futimens(fd, MARK);
    futimens(fd, NULL);
    fsetxattr(fd, "user.mark", "x", 1, 0);
    fsetxattr(fd, "security.mark", "x", 1, 0);
    fcntl(fd, F_SET_RW_HINT, &hint);
    fcntl(fd, 1038, &hint);
    fcntl(fd, F_SETLEASE, F_RDLCK);
    fcntl(fd, F_NOTIFY, DN_ACCESS | DN_MULTISHOT);
    fcntl(fd, F_SETOWN, getpid());
    fcntl(fd, F_SETSIG, SIGUSR1);
    fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND);
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NODUMP_FL | FS_NOATIME_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
    fchown(fd, getuid(), getgid());
    fchmod(fd, 0);
}

// Descriptors stay open to the end, so that locks do.
static int visit(const char *path, const struct stat *s, int type, struct FTW *f) {
    static int held;
    if (strcmp(path, "/proc") == 0) return FTW_SKIP_SUBTREE;
    if (type == FTW_NS) return 0;
    utimensat(AT_FDCWD, path, MARK, AT_SYMLINK_NOFOLLOW);
    utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    lsetxattr(path, "user.mark", "x", 1, 0);
    int fd = S_ISLNK(s->st_mode) ? -1 : (int)open_for(path, O_RDONLY);
    if (fd >= 0) {
        flock(fd, LOCK_EX | LOCK_NB);
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        fcntl(fd, F_SETLK, &lock);
        mark_open(fd);
        if (held++ > 128) close(fd);
    }
    chmod(path, type == FTW_D ? 0711 : 0);
    if (type == FTW_D) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/mark", path);
        close(open(name, O_WRONLY | O_CREAT, 0666));
        mkdir(strcat(name, ".d"), 0777);
    }
    return type == FTW_D && f->level >= 3 ? FTW_SKIP_SUBTREE : 0;
}

static int kernel_file(const char *path, const struct stat *s, int type, struct FTW *f) {
    if (type == FTW_NS || strstr(path, "/task")) return type == FTW_D ? FTW_SKIP_SUBTREE : 0;
    // Our own death would end this too early.
    if (!S_ISREG(s->st_mode) || strstr(path, "/mem") || strstr(path, "sysrq")) return 0;
    utimensat(AT_FDCWD, path, MARK, 0);
    int fd = (int)open_for(path, O_WRONLY);
    if (fd < 0) return 0;
    write(fd, "77\n", 3);
    close(fd);
    return 0;
}

// Reaches nobody, but is counted on the way.
static void send_away(int family) {
    union {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } to = {0};
    socklen_t size = family == AF_INET ? sizeof to.in : sizeof to.in6;
    if (family == AF_INET) to.in = (struct sockaddr_in){AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}};
    else to.in6 = (struct sockaddr_in6){AF_INET6, htons(9), 0, IN6ADDR_LOOPBACK_INIT};
    for (int i = 0; i < 1000; i++) {
        int fd = socket(family, i % 2 ? SOCK_STREAM : SOCK_DGRAM, 0);
        if (fd < 0) return;
        if (i % 2) connect(fd, (struct sockaddr *)&to, size);
        else sendto(fd, "x", 1, 0, (struct sockaddr *)&to, size);
        close(fd);
    }
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    // struct in6_flowlabel_req: get, exclusive, create; it stays for a minute after its socket.
    struct {
        struct in6_addr to;
        uint32_t label;
        uint8_t action, share;
        uint16_t flags, expires, linger;
        uint32_t pad;
    } label = {IN6ADDR_LOOPBACK_INIT, htonl(0x12345), 0, 1, 1, 60, 60, 0};
    setsockopt(fd, IPPROTO_IPV6, 32 /* IPV6_FLOWLABEL_MGR */, &label, sizeof label);
}

// Descriptors that only a socket holds which only itself holds: nobody is left to receive them.
static void pass_in_circles(void) {
    for (int i = 0; i < 40; i++) {
        int pair[2];
        char data = 0, space[CMSG_SPACE(2 * sizeof(int))] = {0};
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
        struct iovec bytes = {&data, 1};
        struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(2 * sizeof(int))};
        memcpy(CMSG_DATA(head), pair, 2 * sizeof(int));
        sendmsg(pair[0], &message, MSG_DONTWAIT);
        close(pair[0]);
        close(pair[1]);
    }
}

int main(void) {
    struct sigevent nothing = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    timer_t timer;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < 3; i++) mark_open(i);
    for (int i = 0; i < 3; i++) flock(i, LOCK_EX | LOCK_NB);
    lseek(0, 1, SEEK_SET);
    nftw("/", visit, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    nftw("/proc", kernel_file, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    nftw("/proc/self/", kernel_file, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    send_away(AF_INET);
    send_away(AF_INET6);
    pass_in_circles();
    for (int i = 0; i < 40; i++) inotify_add_watch(inotify_init(), "/usr", IN_ALL_EVENTS);
    for (int i = 0; i < 64; i++) sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
    for (int i = 0; i < 64; i++) timer_create(CLOCK_MONOTONIC, &nothing, &timer);
    shmget(0x7a07a07a, 4096, IPC_CREAT | 0666);
    mq_open("/mark", O_CREAT | O_RDWR, 0666, NULL);
    syscall(SYS_add_key, "user", "mark", "x", 1L, -4L);
    syscall(SYS_keyctl, 0, -4, 1);
    sethostname("mark", 4);
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0mark"};
    bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name);
    setpriority(PRIO_PROCESS, 0, 10);
    prctl(PR_SET_TIMERSLACK, 77);
    for (int i = 0; i < 5; i++)
        if (fork() == 0) {
            setsid();
            if (fork() == 0) sleep_for_ever();
            _exit(0);
        }
    return 0;
}
