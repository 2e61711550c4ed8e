// run: --wall-time 0.4
// expect: wall_time_limit|nonzero_exit|signalled
// why: a traced child stops in front of a tracer that never lets it go on; the tracer waits
#include "../hostile.h"
int main(void) {
    pid_t child = spawn();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0)) _exit(3);
        raise(SIGSTOP);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) refused("ptrace");
    waitpid(child, &status, 0);
    return 0;
}
