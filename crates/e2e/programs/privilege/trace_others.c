// expect: ok
// why: traces, reads, writes and takes descriptors from the processes of the sandbox
#include "../hostile.h"
static long peek(pid_t pid, int call) {
    char here[8];
    struct iovec local = {here, 8}, remote = {(void *)0x400000, 8};
    return syscall(call, pid, &local, 1UL, &remote, 1UL, 0UL);
}
static long steal(pid_t pid) {
    int fd = (int)syscall(434, pid, 0);
    return fd < 0 ? -1 : syscall(438, fd, 0, 0);
}
static long write_memory(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    return open_for(path, O_RDWR);
}
int main(void) {
    pid_t victims[] = {1, getppid()};
    pid_t self = getpid();
    for (int i = 0; i < 2; i++) {
        pid_t pid = victims[i];
        if (pid == self || pid == 0) continue;
        MUST_FAIL("PTRACE_ATTACH", ptrace(PTRACE_ATTACH, pid, 0, 0));
        MUST_FAIL("PTRACE_SEIZE", ptrace(PTRACE_SEIZE, pid, 0, 0));
        MUST_FAIL("process_vm_readv", peek(pid, SYS_process_vm_readv));
        MUST_FAIL("process_vm_writev", peek(pid, SYS_process_vm_writev));
        MUST_FAIL("pidfd_getfd", steal(pid));
        MUST_FAIL("/proc/PID/mem", write_memory(pid));
        MUST_FAIL("prlimit", syscall(SYS_prlimit64, pid, RLIMIT_CPU, &(struct rlimit){1, 1}, NULL));
        MUST_FAIL("sched_setaffinity", syscall(SYS_sched_setaffinity, pid, 8, &(long){1}));
    }
    return 0;
}
