// expect: ok
// why: makes the device nodes it was not given: memory, the system disk
#include <sys/sysmacros.h>
#include "../hostile.h"
int main(void) {
    MUST_FAIL("mknod mem", mknod("mem", S_IFCHR | 0666, makedev(1, 1)));
    MUST_FAIL("mknod kmsg", mknod("kmsg", S_IFCHR | 0666, makedev(1, 11)));
    MUST_FAIL("mknod vda", mknod("/tmp/vda", S_IFBLK | 0666, makedev(254, 0)));
    MUST_FAIL("mknod sda", mknod("/dev/shm/sda", S_IFBLK | 0666, makedev(8, 0)));
    return 0;
}
