// args: {tmp_file} {shm_file} {var_tmp_file}
// expect: ok
// why: files of the host in /tmp, /dev/shm and /var/tmp, readable to all there, are not here
#include "../hostile.h"
int main(int argc, char **argv) {
    if (argc != 4) broken("three paths wanted");
    for (int i = 1; i < argc; i++) {
        MUST_FAIL(argv[i], access(argv[i], F_OK));
        MUST_FAIL(argv[i], open_for(argv[i], O_WRONLY));
    }
    return 0;
}
