// run: --memory 64M
// expect: ok
// why: a run must not inherit the sandbox's exemption from the killer, nor exempt itself
#include "../hostile.h"
int main(void) {
    char text[32] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDWR);
    if (fd < 0) {
        fd = open("/proc/self/oom_score_adj", O_RDONLY);
        if (fd < 0) return 0;
    }
    if (read(fd, text, sizeof text - 1) <= 0) broken("read of oom_score_adj");
    if (atoi(text) < 0) breach("oom_score_adj is %s", text);
    if (pwrite(fd, "-1000", 5, 0) == 5) breach("oom_score_adj went down to -1000");
    return 0;
}
