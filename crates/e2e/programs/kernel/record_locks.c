// args: posix
// args: description
// run: --memory 16M --processes 16
// expect: ok|memory_limit
// host: 48M
// why: record locks are kernel memory that no group is charged for and no resource limit bounds
#include "../many.h"
static int command = F_SETLK;
static void make(int child) {
    (void)child;
    int files[250], count = 0;
    while (count < 250 && (files[count] = open(".", O_TMPFILE | O_RDWR, 0600)) >= 0) count++;
    // Each lock is compared with all of its file, so there are several; and downwards, where no place has to be looked for.
    for (off_t at = 1000; at > 0; at -= 2)
        for (int i = 0; i < count; i++) {
            struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
            if (fcntl(files[i], command, &lock)) return;
        }
}
int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "description")) command = F_OFD_SETLK;
    return many(14, 1.2, make);
}
