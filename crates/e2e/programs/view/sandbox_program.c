// run: --wall-time 6
// expect: ok
// why: the sandbox's own executable through /proc/PID/exe, kept open until it can be written
#include "../hostile.h"
int main(void) {
    for (pid_t pid = 1; pid <= getppid() || pid < 3; pid++) {
        char path[64];
        if (pid == getpid()) continue;
        snprintf(path, sizeof path, "/proc/%d/exe", pid);
        int held = open(path, O_PATH);
        if (held < 0) continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", held);
        MUST_FAIL(path, open_for(path, O_WRONLY));
        close(held);
    }
    return 0;
}
