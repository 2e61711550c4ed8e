// expect: ok
// why: nothing of the system's directories can be written, made or removed
#include "../hostile.h"
int main(void) {
    const char *directories[] = {"/", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/etc", "/bin", "/lib", "/lib64", "/sbin", "/opt", "/dev", "/proc", "/sys", "/var"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/tautochrone-was-here", directories[i]);
        MUST_FAIL(path, open_for(path, O_WRONLY | O_CREAT));
        MUST_FAIL(path, mkdir(path, 0700));
        MUST_FAIL(path, symlink("/", path));
    }
    const char *files[] = {"/usr/bin/env", "/bin/sh", "/etc/passwd", "/etc/ld.so.cache", "/lib64/ld-linux-x86-64.so.2"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        MUST_FAIL(files[i], open_for(files[i], O_RDWR));
        MUST_FAIL(files[i], unlink(files[i]));
        MUST_FAIL(files[i], chmod(files[i], 0777));
        MUST_FAIL(files[i], rename(files[i], "/tmp/taken"));
    }
    return 0;
}
