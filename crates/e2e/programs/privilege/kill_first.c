// expect: ok
// why: every signal to the first process of the namespace and to the parent
#include "../hostile.h"
int main(void) {
    if (getpid() == 1) return 0;
    for (int s = 1; s < 65; s++) {
        kill(1, s);
        if (getppid() > 1) kill(getppid(), s);
        syscall(SYS_tkill, 1, s);
    }
    return 0;
}
