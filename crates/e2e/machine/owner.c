/* First process of a hostile guest. It starts a process that is root outside of every sandbox, then becomes the agent. The kernel passes
   `owner=` (what that process does), `after=` (when, in ms), `port=` (of a listener on the host) and `seed=` as variables. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define AGENT "/tauto-guest"
#define PORT "/dev/vport0p1"

static FILE *report;
static uint64_t seed;

static uint64_t dice(uint64_t below) { /* splitmix64 */
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void text(const char *path, const char *words) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, words, strlen(words)) < 0) perror(path);
    close(fd);
}

/* ---- blows ---- */

static void stop_agent(void) {
    DIR *all = opendir("/proc/1/task");
    for (struct dirent *one; all && (one = readdir(all));)
        if (atoi(one->d_name)) ptrace(PTRACE_ATTACH, atoi(one->d_name), 0, 0);
}

/* The agent's end of the stream to the host. */
static int port_of_agent(void) {
    int agent = syscall(SYS_pidfd_open, 1, 0);
    for (;; sleep_ms(20))
        for (int fd = 0; fd < 64; fd++) {
            char link[64], to[256] = "";
            snprintf(link, sizeof link, "/proc/1/fd/%d", fd);
            if (readlink(link, to, sizeof to - 1) > 0 && strstr(to, "vport")) return syscall(SYS_pidfd_getfd, agent, fd, 0);
        }
}

static void frame(int port, unsigned kind, unsigned channel, const char *content, uint32_t length) {
    static unsigned char bytes[1 << 20];
    memcpy(bytes, &length, 4);
    bytes[4] = kind, bytes[5] = channel;
    memcpy(bytes + 6, content, length);
    for (uint32_t n = 0; n < length + 6;) {
        ssize_t some = write(port, bytes + n, length + 6 - n);
        if (some <= 0) return;
        n += some;
    }
}

static void document(int port, const char *json) { frame(port, 1, 0, json, strlen(json)); }

static void lie(void) {
    static char much[200 << 10];
    int port = port_of_agent();
    char answer[256];
    unsigned serial = dice(12);
    switch (dice(9)) {
    case 8: /* The begin of a frame whose end never comes, though some of it always does. */
        if (write(port, "\x00\x00\x03\x00\x01\x00", 6) < 0) perror("port");
        break;
    case 0:
        for (size_t n = 0; n < 4096; n++) much[n] = dice(256);
        if (write(port, much, 4096) < 0) perror("port");
        break;
    case 1:
        snprintf(answer, sizeof answer, "{\"serial\":%u,\"told\":\"done\"}", serial);
        document(port, answer);
        break;
    case 2:
        if (write(port, "\xff\xff\xff\xff\x01\x00", 6) < 0) perror("port");
        break;
    case 3:
        for (int n = 0; n < 400; n++) frame(port, 2, 200, much, sizeof much);
        break;
    case 4:
        memset(much, '[', sizeof much);
        frame(port, 1, 0, much, sizeof much);
        break;
    case 5:
        document(port, "{\"serial\":0,\"told\":{\"ready\":{\"version\":1,\"weaker\":[\"\\u001b[31m\"]}}}");
        break;
    case 6:
        snprintf(answer, sizeof answer, "{\"serial\":%u,\"told\":{\"files\":[\"../../../etc/passwd\",\"/etc/shadow\"]}}", serial);
        document(port, answer);
        break;
    default:
        snprintf(answer, sizeof answer, "{\"serial\":%u,\"told\":{\"failed\":{\"what\":\"x\",\"why\":\"\\nhint: rm -rf /\",\"blame\":\"content\"}}}", serial);
        document(port, answer);
        frame(port, 4, dice(256), "\xff\xff\xff\xff", 4);
    }
    /* Whoever lies once does not stop. */
    for (;;) frame(port, 1, 0, "{}", 2), sleep_ms(100);
}

/* Ports and memory of devices, at random, for a while; then the end. */
static void poke(void) {
    if (iopl(3)) return;
    for (int n = 0; n < 20000; n++) {
        unsigned where = dice(4) ? 0xc000 + dice(0x400) : dice(0x10000);
        /* Not the two by which a machine is restarted. */
        if (where == 0xcf9 || where == 0x64 || where == 0x92) continue;
        switch (dice(3)) {
        case 0: outb(dice(256), where); break;
        case 1: outw(dice(65536), where); break;
        default: outl(dice(1ull << 32), where);
        }
    }
    int memory = open("/dev/mem", O_RDWR | O_CLOEXEC);
    for (int n = 0; n < 2000 && memory >= 0; n++) {
        uint32_t value = dice(1ull << 32);
        if (pwrite(memory, &value, 4, 0xfe000000 + (dice(0x100000) & ~3ull)) < 0) break;
    }
}

static void panic(void) {
    text("/proc/sys/kernel/sysrq", "1");
    text("/proc/sysrq-trigger", "c");
}

/* ---- what it reaches ---- */

static void told(const char *what, int reached) {
    if (reached) fprintf(report, "REACHED %s\n", what);
    else fprintf(report, "refused %s: %s\n", what, strerror(errno));
    fflush(report);
}

static void attempt(const char *share, const char *what, int result) {
    char words[512];
    int e = errno;
    snprintf(words, sizeof words, "%s in %s", what, share);
    errno = e;
    told(words, result >= 0);
}

/* Some file of a directory, as deep as it takes. */
static int some_file(const char *directory, char *found, size_t size, int depth) {
    DIR *all = opendir(directory);
    int there = 0;
    for (struct dirent *one; all && !there && (one = readdir(all));) {
        struct stat facts;
        char path[512];
        if (one->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", directory, one->d_name) >= (int)sizeof path) continue;
        if (lstat(path, &facts)) continue;
        if (S_ISREG(facts.st_mode)) there = snprintf(found, size, "%s", path) > 0;
        else if (S_ISDIR(facts.st_mode) && depth) there = some_file(path, found, size, depth - 1);
    }
    if (all) closedir(all);
    return there;
}

static void write_into(const char *share) {
    char path[600], file[512];
#define AT(name) (snprintf(path, sizeof path, "%s/%s", share, name), path)
    attempt(share, "making a file", open(AT("owned"), O_CREAT | O_WRONLY, 0666));
    attempt(share, "making a directory", mkdir(AT("owned.d"), 0777));
    attempt(share, "making a device", mknod(AT("owned.dev"), S_IFBLK | 0666, 0xfe00));
    attempt(share, "making a symbolic link", symlink("/etc/shadow", AT("owned.link")));
    attempt(share, "changing the mode of its root", chmod(share, 0777));
    if (!some_file(share, file, sizeof file, 4)) return;
    attempt(share, "opening a file for writing", open(file, O_WRONLY));
    attempt(share, "truncating a file", truncate(file, 0));
    attempt(share, "making a file setuid", chmod(file, 06777));
    attempt(share, "changing the owner of a file", chown(file, 0, 0));
    attempt(share, "linking a file", link(file, AT("owned.hard")));
    attempt(share, "renaming a file", rename(file, AT("owned.new")));
    attempt(share, "removing a file", unlink(file));
    attempt(share, "an attribute of a file", setxattr(file, "user.owned", "1", 1, 0));
}

/* Before the agent mounts them: each shared directory, writable, by the tag it has, and by roots above it. */
static void shares(void) {
    static const char *roots[] = {"", ",aname=/", ",aname=/../../etc", ",aname=../..", ",uname=root,dfltuid=0,aname=/etc", NULL};
    int some = 0;
    mkdir("/own", 0755);
    for (int n = 0; n < 32; n++)
        for (const char **root = roots; *root; root++) {
            char tag[16], options[256], what[64];
            struct stat secret;
            snprintf(tag, sizeof tag, "share%d", n);
            snprintf(options, sizeof options, "trans=virtio,version=9p2000.L,cache=none,access=any%s", *root);
            if (mount(tag, "/own", "9p", 0, options)) continue;
            some++;
            if (root == roots) write_into("/own");
            snprintf(what, sizeof what, "shadow in %s%s", tag, *root);
            told(what, stat("/own/shadow", &secret) == 0 || stat("/own/etc/shadow", &secret) == 0);
            umount2("/own", MNT_DETACH);
        }
    fprintf(report, "%s: %d mounts of our own\n", some ? "known" : "REACHED", some);
}

static void early(void) {
    struct dirent **all;
    mkdir("/dev", 0755);
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    int count = scandir("/modules", &all, NULL, alphasort);
    for (int n = 0; n < count; n++) {
        char path[300];
        snprintf(path, sizeof path, "/modules/%s", all[n]->d_name);
        int fd = open(path, O_RDONLY), plain = strcmp(path + strlen(path) - 3, ".ko") == 0;
        if (all[n]->d_name[0] != '.') syscall(SYS_finit_module, fd, "", plain ? 0 : 4);
        close(fd);
    }
    report = fopen("/dev/ttyS1", "w");
    sleep_ms(200);
    if (report) shares(), fclose(report);
    umount2("/dev", MNT_DETACH);
}

static void secrets(void) {
    for (const char **name = (const char *[]){"/etc/shadow", "/root/.bashrc", "/home", "/var/lib/tautochrone", "/var/log", "/run", "/boot", "/srv", NULL}; *name; name++) {
        struct stat facts;
        told(*name, stat(*name, &facts) == 0);
    }
}

static int reached(int family, const struct sockaddr *to, socklen_t size) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {2, 0};
    if (fd < 0) return 0;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int ok = connect(fd, to, size) == 0, e = errno;
    close(fd);
    errno = e;
    return ok;
}

static void network(void) {
    int port = atoi(getenv("port") ? getenv("port") : "1");
    for (const char **address = (const char *[]){"127.0.0.1", "10.0.2.2", "10.0.2.3", "169.254.169.254", "192.0.2.1", NULL}; *address; address++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
        char what[64];
        inet_pton(AF_INET, *address, &to.sin_addr);
        snprintf(what, sizeof what, "the network, %s", *address);
        told(what, reached(AF_INET, (struct sockaddr *)&to, sizeof to));
    }
    struct sockaddr_vm host = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = port};
    told("the host by vsock", reached(AF_VSOCK, (struct sockaddr *)&host, sizeof host));
    for (struct if_nameindex *all = if_nameindex(), *one = all; one && one->if_index; one++)
        if (strcmp(one->if_name, "lo")) fprintf(report, "REACHED network interface %s\n", one->if_name);
}

static void devices(void) {
    DIR *all = opendir("/sys/block");
    for (struct dirent *one; all && (one = readdir(all));)
        if (one->d_name[0] != '.' && strncmp(one->d_name, "loop", 4) && strncmp(one->d_name, "ram", 3)) fprintf(report, "REACHED block device %s\n", one->d_name);
    /* Host bridge, ISA bridge, IDE without drives, power management, memory of other kinds, what virtio is. */
    all = opendir("/sys/bus/pci/devices");
    for (struct dirent *one; all && (one = readdir(all));) {
        char path[300], vendor[16] = "", kind[16] = "";
        if (one->d_name[0] == '.') continue;
        for (int n = 0; n < 2; n++) {
            snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", one->d_name, n ? "class" : "vendor");
            int fd = open(path, O_RDONLY);
            if (read(fd, n ? kind : vendor, 15) < 0) perror(path);
            close(fd);
        }
        char *ours[] = {"0x0600", "0x0601", "0x0101", "0x0680"};
        int known = !strncmp(vendor, "0x1af4", 6);
        for (int n = 0; n < 4; n++) known |= !strncmp(kind, ours[n], 6);
        fprintf(report, "%s device %s of vendor %.6s, class %.8s\n", known ? "known" : "REACHED", one->d_name, vendor, kind);
    }
    errno = 0;
    told("the port a second time", open(PORT, O_RDWR) >= 0);
    errno = ENOENT;
    told("another port", access("/dev/vport0p2", F_OK) == 0 || access("/dev/vport1p1", F_OK) == 0);
    if (iopl(3) == 0) {
        /* VMware's back door (QEMU, vmport): it would show the host's clipboard, mouse and time. */
        uint32_t magic = 0x564d5868, answer = 0, command = 10;
        __asm__ volatile("inl %%dx, %%eax" : "=a"(magic), "=b"(answer), "+c"(command) : "a"(0x564d5868), "b"(0), "d"(0x5658) : "memory");
        errno = ENXIO;
        told("the back door of vmport", answer == 0x564d5868);
    }
    errno = ENOENT;
    told("a graphics memory", access("/dev/fb0", F_OK) == 0);
}

static void probe(void) {
    report = fopen("/dev/ttyS1", "w");
    if (!report) return;
    devices();
    network();
    /* The tree that programs see, and the mounts that it has, made writable. */
    char line[1024], *at;
    FILE *mounts = fopen("/proc/1/mounts", "r");
    if (chroot("/proc/1/root") || chdir("/")) told("the agent's root", 0);
    secrets();
    while (mounts && fgets(line, sizeof line, mounts)) {
        if (strncmp(line, "share", 5)) continue;
        strtok(line, " "), at = strtok(NULL, " ");
        struct statvfs facts;
        if (mount(NULL, at, NULL, MS_REMOUNT, NULL) || statvfs(at, &facts)) continue;
        fprintf(report, "known: %s is mounted %s here\n", at, facts.f_flag & ST_RDONLY ? "read-only" : "writable");
        write_into(at);
    }
    fprintf(report, "done\n");
    fclose(report);
}

int main(int count, char **words) {
    (void)count;
    const char *what = getenv("owner");
    seed = strtoull(getenv("seed") ? getenv("seed") : "1", NULL, 10);
    if (what && !strcmp(what, "probe")) early();
    if (what && fork() == 0) {
        setsid();
        sleep_ms(atol(getenv("after") ? getenv("after") : "0"));
        /* What this needs is mounted by the agent. */
        while (access("/proc/1/root/usr", F_OK)) sleep_ms(20);
        if (!strcmp(what, "panic")) panic();
        else if (!strcmp(what, "restart")) reboot(RB_AUTOBOOT);
        else if (!strcmp(what, "off")) reboot(RB_POWER_OFF);
        else if (!strcmp(what, "hang")) stop_agent();
        else if (!strcmp(what, "lie")) lie();
        else if (!strcmp(what, "poke")) poke();
        else if (!strcmp(what, "probe")) probe();
        for (;;) pause();
    }
    words[0] = AGENT;
    execv(AGENT, words);
    return 1;
}
