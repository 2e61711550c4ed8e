// expect: ok
// why: from its first instruction on it is the one that the kernel ends when memory runs out, and so are its children: the launcher, whose group it shares, is not
#include "../hostile.h"
int main(void) {
    char text[16] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDONLY);
    if (fd < 0) return 67;
    if (read(fd, text, sizeof text - 1) <= 0) return 67;
    return atoi(text) == 1000 ? 0 : 66;
}
