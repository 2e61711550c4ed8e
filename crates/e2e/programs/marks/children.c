// run: --processes 8
// expect: ok
// check: time.cpu_ns <= 1.5*cpu-time
// why: three hundred children of 5 ms, every second one waited for by nobody; says what they used, in nanoseconds
#include "../hostile.h"
static long long used(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void) {
    long long *sum = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 300; i++) {
        signal(SIGCHLD, i % 2 ? SIG_IGN : SIG_DFL);
        pid_t pid = spawn();
        if (pid == 0) {
            burn(0.005);
            *sum += used();
            _exit(0);
        }
        while (waitpid(pid, NULL, 0) >= 0 || errno == EINTR) {
        }
    }
    dprintf(1, "%lld\n", *sum + used());
    return 0;
}
