// args: {tmp_file}
// expect: ok
// why: .. from every starting point ends at the root of the view, never at the host's
#include "../hostile.h"
int main(int argc, char **argv) {
    if (argc < 2) broken("no path given");
    const char *starts[] = {"/", ".", "/proc/self/cwd", "/proc/self/root", "/tmp", "/usr", "/dev"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/../../../../../../../../../../../..%s", starts[i], argv[1]);
        MUST_FAIL(path, access(path, F_OK));
        int at = open(starts[i], O_PATH | O_DIRECTORY);
        if (at < 0) continue;
        for (int step = 0; step < 32; step++) {
            int up = openat(at, "..", O_PATH | O_DIRECTORY);
            if (up < 0) break;
            close(at);
            at = up;
        }
        MUST_FAIL("root by ..", faccessat(at, argv[1] + 1, F_OK, 0));
        close(at);
    }
    return 0;
}
