// expect: ok
// why: devices that reach the machine or somebody's terminal
#include "../hostile.h"
int main(void) {
    const char *paths[] = {"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0", "/dev/loop0", "/dev/loop-control",
                           "/dev/fuse", "/dev/kvm", "/dev/vsock", "/dev/net/tun", "/dev/console", "/dev/tty", "/dev/tty0", "/dev/tty1", "/dev/ttyS0",
                           "/dev/ptmx", "/dev/pts/0", "/dev/userfaultfd", "/dev/cpu/0/msr", "/dev/cpu_dma_latency", "/dev/snapshot", "/dev/zram0",
                           "/dev/btrfs-control", "/dev/autofs", "/dev/hwrng", "/dev/vga_arbiter", "/dev/vcs", "/dev/mapper/control", "/dev/rtc0", "/dev/dri/card0"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) MUST_FAIL(paths[i], open_for(paths[i], O_RDONLY));
    return 0;
}
