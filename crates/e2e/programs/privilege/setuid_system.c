// expect: ok
// why: setuid programs of the system gain nothing
#include "../hostile.h"
static int attempt(char *const *command) {
    pid_t child = spawn();
    if (child == 0) {
        close(0);
        open("/dev/null", O_RDONLY);
        execv(command[0], command);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    return status == 0;
}
int main(void) {
    mkdir("m", 0700);
    char *commands[][6] = {{"/usr/bin/mount", "-t", "tmpfs", "none", "m", NULL}, {"/usr/bin/umount", "/proc", NULL},
                           {"/usr/bin/su", "-c", "true", NULL}, {"/usr/bin/sudo", "-n", "true", NULL}, {"/usr/bin/newgrp", "root", NULL},
                           {"/usr/bin/passwd", "-d", "root", NULL}, {"/usr/bin/unshare", "-Ur", "true", NULL},
                           {"/usr/bin/nsenter", "-t", "1", "-m", NULL}, {"/usr/bin/fusermount3", "m", NULL}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (attempt(commands[i])) breach("%s succeeded", commands[i][0]);
    return 0;
}
