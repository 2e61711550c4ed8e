// run: --wall-time 0.4
// expect: wall_time_limit|nonzero_exit|signalled
// why: asks whoever started it to trace it, then stops: the starter must not get confused by a trace stop
#include "../hostile.h"
int main(void) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) refused("ptrace");
    raise(SIGUSR1);
    sleep_for_ever();
}
