// run: --memory 64M
// expect: memory_limit|nonzero_exit
// check: memory_peak_bytes <= 68000000
// why: System V shared memory outlives the process that filled it
#include <sys/shm.h>
#include "../hostile.h"
int main(void) {
    for (int i = 0; i < 64; i++) {
        int id = shmget(IPC_PRIVATE, 16 * MIB, IPC_CREAT | 0600);
        if (id < 0) refused("shmget");
        void *memory = shmat(id, NULL, 0);
        if (memory == (void *)-1) refused("shmat");
        touch(memory, 16 * MIB);
        shmdt(memory);
    }
    breach("one GiB of System V shared memory");
}
