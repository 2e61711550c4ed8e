// args: {shm_id} {msg_id} {sem_id}
// needs: ipcmk
// expect: ok
// why: System V objects of the host, open to all there
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include "../hostile.h"
int main(int argc, char **argv) {
    if (argc != 4) broken("three ids wanted");
    struct shmid_ds facts;
    struct msqid_ds queue;
    MUST_FAIL("shmat", shmat(atoi(argv[1]), NULL, 0));
    MUST_FAIL("shmctl", shmctl(atoi(argv[1]), IPC_STAT, &facts));
    MUST_FAIL("msgctl", msgctl(atoi(argv[2]), IPC_STAT, &queue));
    MUST_FAIL("semctl", semctl(atoi(argv[3]), 0, GETVAL));
    return 0;
}
