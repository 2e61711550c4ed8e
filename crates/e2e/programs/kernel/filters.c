// run: --memory 16M --processes 32
// expect: ok|memory_limit
// host: 48M
// why: a filter of system calls is kept thrice (as given, as checked, as compiled), and only one of them is charged
#include <linux/filter.h>
#include <linux/seccomp.h>
#include "../many.h"
static struct sock_filter code[4096];
static struct sock_fprog program = {4096, code};
static void *stack(void *unused) {
    (void)unused;
    for (int i = 0; i < 8; i++)
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) break;
    sleep_for_ever();
}
static void make(int child) {
    (void)child;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    pthread_t thread;
    for (int i = 0; i < 4; i++) pthread_create(&thread, NULL, stack, NULL);
    int fd;
    while ((fd = socket(AF_UNIX, SOCK_DGRAM, 0)) >= 0) setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}
int main(void) {
    for (size_t i = 0; i < 4096; i++) code[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1);
    code[4095] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return many(6, 0.4, make);
}
