// expect: ok|signalled
// why: kills its process group and session: the caller and the sandbox must be in others
#include "../hostile.h"
int main(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    kill(0, SIGTERM);
    kill(0, SIGINT);
    kill(0, SIGHUP);
    kill(-getpgrp(), SIGKILL);
    return 0;
}
