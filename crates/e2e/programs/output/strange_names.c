// expect: ok
// why: names with line ends, escapes and broken UTF-8 are left behind in the work directory
#include "../hostile.h"
int main(void) {
    const char *names[] = {"a\nb", "\033[2J", "\xff\xfe", "-rf", " ", "\"", "'; true", "$(true)", "..."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int fd = open(names[i], O_WRONLY | O_CREAT, 0600);
        if (fd < 0) broken("open");
        close(fd);
    }
    return 0;
}
