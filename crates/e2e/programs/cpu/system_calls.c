// run: --cpu-time 0.3
// expect: cpu_time_limit
// check: time.system_ns > 0
// why: the time goes into system calls
#include "../hostile.h"
int main(void) {
    for (;;) syscall(SYS_getppid);
}
