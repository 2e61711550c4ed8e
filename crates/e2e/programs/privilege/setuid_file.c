// setuid: yes
// expect: ok|nonzero_exit|system_error
// check: exit_code != 66
// needs: root
// why: the program itself is owned by root with the setuid bit: it must not become root by being started, or again
#include "../hostile.h"
int main(int argc, char **argv) {
    if (geteuid() == 0) breach("effective user 0 by a setuid file");
    if (argc == 1) execl(argv[0], argv[0], "again", NULL);
    return 0;
}
