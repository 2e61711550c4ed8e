// run: --cpu-time 60 --wall-time 60 --output 64M
// expect: wall_time_limit
// why: files, shared memory and a listening daemon are there when the judge is interrupted
#include <sys/shm.h>
#include "../hostile.h"
int main(void) {
    int here = open("left", O_WRONLY | O_CREAT, 0600), there = open("/tmp/left", O_WRONLY | O_CREAT, 0600);
    pour(here, 8 * MIB, MIB);
    pour(there, 8 * MIB, MIB);
    shmget(0x7a07a07a, 4096, IPC_CREAT | 0666);
    if (spawn() == 0) {
        setsid();
        sleep_for_ever();
    }
    if (write(1, "started\n", 8) != 8) broken("write");
    burn_for_ever();
}
