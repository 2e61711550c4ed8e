// expect: ok
// why: kills all processes it can; whoever watches over the run must not be among them
#include "../hostile.h"
int main(void) {
    signal(SIGTERM, SIG_IGN);
    for (int s = 1; s < 65; s++)
        if (s != SIGTERM) signal(s, SIG_IGN);
    kill(-1, SIGTERM);
    kill(-1, SIGKILL);
    kill(-1, SIGSTOP);
    return 0;
}
