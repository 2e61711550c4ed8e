// expect: ok
// why: mounts of every kind, by the old calls and by the new ones
#include <sys/mount.h>
#include "../hostile.h"
int main(void) {
    mkdir("m", 0700);
    MUST_FAIL("tmpfs", mount("none", "m", "tmpfs", 0, NULL));
    MUST_FAIL("proc", mount("none", "m", "proc", 0, NULL));
    MUST_FAIL("bind", mount("/", "m", NULL, MS_BIND | MS_REC, NULL));
    MUST_FAIL("remount /", mount(NULL, "/", NULL, MS_REMOUNT, NULL));
    MUST_FAIL("remount / of a bind", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    MUST_FAIL("remount /usr", mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
    MUST_FAIL("propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
    MUST_FAIL("umount /proc", umount2("/proc", MNT_DETACH));
    MUST_FAIL("umount /usr", umount2("/usr", MNT_DETACH));
    MUST_FAIL("umount /", umount2("/", MNT_DETACH));
    MUST_FAIL("pivot_root", syscall(SYS_pivot_root, ".", "."));
    MUST_FAIL("fsopen", syscall(430, "tmpfs", 0));
    MUST_FAIL("open_tree", syscall(428, AT_FDCWD, "/", 1));
    MUST_FAIL("mount_setattr", syscall(442, AT_FDCWD, "/", 0, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32));
    return 0;
}
