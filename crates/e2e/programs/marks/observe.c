// expect: ok
// why: says all that a run can observe: whatever differs after another run is a message from it
#include <ftw.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include "../hostile.h"

static time_t now;

// Escapes what would break a line.
static void say(const char *kind, const char *what, const char *text, size_t size) {
    printf("%s %s\t", kind, what);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') printf("|");
        else if (c < ' ' || c > '~') printf("\\x%02x", c);
        else putchar(c);
    }
    putchar('\n');
}

static int made_for_this_run(const char *path) {
    const char *whole[] = {"/program", "/data", "stdout"}, *below[] = {"/w", "/tmp", "/dev/shm", "/proc"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(path, whole[i]) == 0) return 1;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (strncmp(path, below[i], strlen(below[i])) == 0) return 1;
    return 0;
}

// Times of what was made for this run are never the same twice.
static void say_time(const char *path, const char *name, struct timespec t) {
    if (made_for_this_run(path) && t.tv_sec <= now + 1 && t.tv_sec > now - 600) printf(" %s=fresh", name);
    else printf(" %s=%lld.%09ld", name, (long long)t.tv_sec, t.tv_nsec);
}

static void attributes(const char *path, int fd) {
    char names[4096], value[256];
    ssize_t size = fd < 0 ? llistxattr(path, names, sizeof names) : flistxattr(fd, names, sizeof names);
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
        ssize_t n = fd < 0 ? lgetxattr(path, names + at, value, sizeof value) : fgetxattr(fd, names + at, value, sizeof value);
        printf("xattr %s\t%s=%.*s\n", path, names + at, n < 0 ? 0 : (int)n, value);
    }
}

static void state(const char *kind, const char *path, const struct stat *s, int exact) {
    printf("%s %s\tmode=%o links=%lu owner=%u:%u", kind, path, s->st_mode, (unsigned long)s->st_nlink, s->st_uid, s->st_gid);
    printf(" device=%lx ino=%lu", (unsigned long)s->st_rdev, exact ? (unsigned long)s->st_ino : 0);
    if (!S_ISDIR(s->st_mode)) printf(" size=%lld blocks=%lld", (long long)s->st_size, (long long)s->st_blocks);
    say_time(path, "a", s->st_atim);
    say_time(path, "m", s->st_mtim);
    say_time(path, "c", s->st_ctim);
    putchar('\n');
}

static int visit(const char *path, const struct stat *s, int type, struct FTW *f) {
    if (type == FTW_NS) return 0;
    state("file", path, s, 1);
    attributes(path, -1);
    if (strcmp(path, "/proc") == 0) return FTW_SKIP_SUBTREE;
    return type == FTW_D && f->level >= 3 ? FTW_SKIP_SUBTREE : 0;
}

static int kernel_file(const char *path, const struct stat *s, int type, struct FTW *f) {
    static char text[1 << 16];
    const char *name = path + strlen("/proc/");
    // Of threads, what stands in the files of the process; of others than this process, nothing.
    if (strstr(path, "/task") && strcmp(path, "/proc/self/task") != 0) return FTW_SKIP_SUBTREE;
    if (type == FTW_D && *name >= '0' && *name <= '9') return FTW_SKIP_SUBTREE;
    if (type == FTW_NS || !S_ISREG(s->st_mode)) return 0;
    if (strstr(path, "pagemap") || strstr(path, "kmsg") || strstr(path, "kcore") || strstr(path, "/auxv")) return 0;
    printf("proc %s\tmode=%o owner=%u\n", path, s->st_mode, s->st_uid);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text);
    if (n >= 0) say("text", path, text, (size_t)n);
    close(fd);
    return 0;
}

// What an open file keeps beside its bytes.
static void open_file(const char *name, int fd) {
    struct stat s;
    uint64_t hint = 99, file_hint = 99;
    if (fstat(fd, &s) != 0) return;
    state("open", name, &s, !S_ISFIFO(s.st_mode));
    attributes(name, fd);
    fcntl(fd, F_GET_RW_HINT, &hint);
    fcntl(fd, 1037, &file_hint);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int conflict = fcntl(fd, F_GETLK, &lock) == 0 ? lock.l_type : -1;
    int free = flock(fd, LOCK_EX | LOCK_NB);
    flock(fd, LOCK_UN);
    printf("flags %s\tflags=%o owner=%d signal=%d lease=%d hint=%llu,%llu lock=%d flock=%d at=%lld\n", name, fcntl(fd, F_GETFL),
           fcntl(fd, F_GETOWN), fcntl(fd, F_GETSIG), fcntl(fd, F_GETLEASE), (unsigned long long)hint,
           (unsigned long long)file_hint, conflict, free, (long long)lseek(fd, 0, SEEK_CUR));
}

// How many of something the user may still have.
static int until_refused(int most, int (*make)(void)) {
    static int made[65536];
    int n = 0;
    while (n < most && (made[n] = make()) >= 0) n++;
    for (int i = 0; i < n; i++) close(made[i]);
    return n;
}

static int watch(void) { return inotify_init1(IN_CLOEXEC); }

static int passing[2];
static int pass(void) {
    char data = 0, space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec bytes = {&data, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(head), &passing[1], sizeof(int));
    return sendmsg(passing[0], &message, MSG_DONTWAIT) == 1 ? dup(0) : -1;
}

static int child(void) {
    pid_t pid = fork();
    if (pid == 0) sleep_for_ever();
    return pid < 0 ? -1 : dup(0);
}

// How many rules of Landlock's can still be laid over those in force: sixteen in all.
static int layers(void) {
    uint64_t handled[2] = {1, 0};
    int n = 0, rules = (int)syscall(SYS_landlock_create_ruleset, handled, 8, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    while (rules >= 0 && n < 99 && syscall(SYS_landlock_restrict_self, rules, 0) == 0) n++;
    return n;
}

static void file_system(const char *path) {
    struct statfs s;
    if (statfs(path, &s) == 0 && s.f_type == 0x01021994)
        printf("room %s\tblocks=%lu free=%lu inodes=%lu,%lu flags=%lx\n", path, (unsigned long)s.f_blocks, (unsigned long)s.f_bfree,
               (unsigned long)s.f_files, (unsigned long)s.f_ffree, (unsigned long)s.f_flags);
}

int main(void) {
    now = time(NULL);
    const char *streams[] = {"stdin", "stdout", "stderr"};
    const char *files[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/data/input", "/usr", "/etc/passwd", "/usr/bin/env"};
    const char *places[] = {"/", "/w", "/tmp", "/dev/shm", "/program", "/data", "/run"};
    for (int i = 0; i < 3; i++) open_file(streams[i], i);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        if (fd >= 0) open_file(files[i], fd);
        close(fd);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) file_system(places[i]);
    nftw("/", visit, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    nftw("/proc", kernel_file, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    nftw("/proc/self/", kernel_file, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    nftw("/proc/self/net/", kernel_file, 64, FTW_PHYS | FTW_ACTIONRETVAL);
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        if (getrlimit(i, &limit) == 0) printf("limit %d\t%llx %llx\n", i, (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
    int ends[2];
    if (pipe(ends) == 0) printf("count pipe\t%d\n", fcntl(ends[0], F_GETPIPE_SZ));
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, NULL, 0);
    printf("count pid\t%d %d %d %d\n", getpid(), getppid(), getsid(0), pid);
    printf("count nice\t%d %d %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), prctl(PR_GET_TIMERSLACK));
    fflush(stdout);
    if (fork() == 0) {
        printf("count layers\t%d\n", layers());
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    printf("count inotify\t%d\n", until_refused(200, watch));
    socketpair(AF_UNIX, SOCK_DGRAM, 0, passing);
    printf("count passed\t%d\n", until_refused(200, pass));
    fflush(stdout);
    printf("count children\t%d\n", until_refused(200, child));
    fflush(stdout);
    return 0;
}
