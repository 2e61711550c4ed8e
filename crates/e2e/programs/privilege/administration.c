// expect: ok
// why: calls of the machine's administrator, with arguments that would do no harm even if they went through
#include <sys/timex.h>
#include "../hostile.h"
int main(void) {
    struct timespec now;
    struct timex clock = {.modes = ADJ_TICK, .tick = 10000};
    clock_gettime(CLOCK_REALTIME, &now);
    MUST_FAIL("sethostname", sethostname("breach", 6));
    MUST_FAIL("setdomainname", setdomainname("breach", 6));
    MUST_FAIL("clock_settime", clock_settime(CLOCK_REALTIME, &now));
    MUST_FAIL("adjtimex", adjtimex(&clock));
    MUST_FAIL("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL));
    MUST_FAIL("swapon", syscall(SYS_swapon, "/dev/null", 0));
    MUST_FAIL("swapoff", syscall(SYS_swapoff, "/nothing"));
    MUST_FAIL("acct", syscall(SYS_acct, "/nothing"));
    MUST_FAIL("init_module", syscall(SYS_init_module, "", 0, ""));
    MUST_FAIL("finit_module", syscall(SYS_finit_module, -1, "", 0));
    MUST_FAIL("delete_module", syscall(SYS_delete_module, "no_such_module", O_NONBLOCK));
    MUST_FAIL("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
    MUST_FAIL("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
    MUST_FAIL("iopl", syscall(SYS_iopl, 3));
    return 0;
}
