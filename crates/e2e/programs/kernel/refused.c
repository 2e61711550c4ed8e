// expect: ok
// why: pools of the whole machine that one run could empty, memory outside every group, and marks on files of the host
#include "../hostile.h"
static long map_huge(void) {
    return (long)mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
}
static long hint(int command) {
    uint64_t value = 2;
    return fcntl(open("/usr/bin/env", O_RDONLY), command, &value);
}
// An error other than the filter's may be another machine's success.
#define MUST_BE_REFUSED(what, wanted, call)                                       \
    MUST_FAIL(what, ({                                                            \
        long result_ = (call);                                                    \
        if (result_ == -1 && errno != (wanted)) breach("%s is not refused", what); \
        result_;                                                                  \
    }))
int main(void) {
    int own = open("own", O_CREAT | O_RDONLY, 0600);
    long context = 0;
    MUST_BE_REFUSED("io_setup", EPERM, syscall(SYS_io_setup, 1, &context));
    MUST_BE_REFUSED("memfd_secret", EPERM, syscall(447, 0));
    MUST_BE_REFUSED("mmap of huge pages", EPERM, map_huge());
    MUST_BE_REFUSED("memfd_create of huge pages", EPERM, syscall(SYS_memfd_create, "x", 4));
    MUST_BE_REFUSED("madvise for merging", EPERM, madvise((void *)((uintptr_t)&context & ~4095UL), 4096, MADV_MERGEABLE));
    MUST_BE_REFUSED("Landlock rules", EPERM, syscall(444, (uint64_t[3]){1}, 8, 0));
    MUST_BE_REFUSED("seccomp", EPERM, syscall(SYS_seccomp, 1, 0, NULL));
    MUST_BE_REFUSED("filter by prctl", EPERM, prctl(PR_SET_SECCOMP, 2, NULL, 0, 0));
    MUST_BE_REFUSED("core scheduling", EPERM, prctl(62, 1, 0, 0, 0));
    MUST_BE_REFUSED("futex table", EPERM, prctl(78, 1, 1 << 20, 0, 0));
    MUST_BE_REFUSED("lease", EPERM, fcntl(own, F_SETLEASE, F_RDLCK));
    MUST_BE_REFUSED("dnotify", EPERM, fcntl(own, F_NOTIFY, DN_CREATE));
    MUST_BE_REFUSED("write hint", EPERM, hint(1036));
    MUST_BE_REFUSED("write hint of a file", EPERM, hint(1038));
    MUST_BE_REFUSED("socket filter", EPERM, setsockopt(socket(AF_UNIX, SOCK_DGRAM, 0), SOL_SOCKET, 26, "", 1));
    MUST_BE_REFUSED("encryption key", EPERM, ioctl(own, 0xc0506617, NULL));
    MUST_BE_REFUSED("cachestat", EPERM, syscall(451, own, NULL, NULL, 0));
    MUST_BE_REFUSED("statmount", EPERM, syscall(457, NULL, NULL, 0, 0));
    MUST_BE_REFUSED("listmount", EPERM, syscall(458, NULL, NULL, 0, 0));
    MUST_BE_REFUSED("open_tree_attr", EPERM, syscall(467, -1, NULL, 0, NULL, 0));
    MUST_BE_REFUSED("file_setattr", EPERM, syscall(469, -1, NULL, NULL, 0, 0));
    MUST_BE_REFUSED("quotactl_fd", EPERM, syscall(443, own, 0, 0, NULL));
    MUST_BE_REFUSED("a call of a later kernel", ENOSYS, syscall(470, 0, 0, 0, 0));
    return 0;
}
