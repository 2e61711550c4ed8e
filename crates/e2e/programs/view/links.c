// args: {secret} {tmp_file}
// expect: ok
// why: symbolic and hard links in the work directory, for the judge to follow when it reads or clears up
#include "../hostile.h"
int main(int argc, char **argv) {
    const char *targets[] = {"/etc/shadow", "/", "/usr", "/proc/1/root", "../../../../../../etc/passwd", argv[1], argv[2]};
    if (argc != 3) broken("two paths wanted");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char name[32];
        snprintf(name, sizeof name, "link%zu", i);
        if (symlink(targets[i], name)) broken("symlink");
        MUST_FAIL("write through a link", open_for(name, O_WRONLY));
    }
    MUST_FAIL("hard link", link("/usr/bin/env", "hard"));
    MUST_FAIL("hard link", link("/etc/passwd", "hard"));
    MUST_FAIL("hard link to own program", link("/proc/self/exe", "hard"));
    symlink("loop", "loop");
    return 0;
}
