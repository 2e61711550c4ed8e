// args: {host_pid}
// expect: ok
// why: kills a process of the host by its number there; whether it lives on is for the harness to say
#include "../hostile.h"
int main(int argc, char **argv) {
    pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
    if (pid < 2) broken("no pid given");
    MUST_FAIL("kill", kill(pid, SIGKILL));
    MUST_FAIL("kill of a group", kill(-pid, SIGKILL));
    MUST_FAIL("tgkill", syscall(SYS_tgkill, pid, pid, SIGKILL));
    MUST_FAIL("pidfd_open", syscall(434, pid, 0));
    MUST_FAIL("getpriority", getpriority(PRIO_PROCESS, (id_t)pid));
    return 0;
}
