// args: plant
// args: look
// run: --wall-time 6 --processes 8
// expect: ok
// why: what an earlier run left in /tmp, /var/tmp, /dev/shm, the work directory, System V and POSIX objects or abstract names
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include "../hostile.h"
static const key_t KEY = 0x7a07a07a;
static const char *PATHS[] = {"/tmp/tautochrone-planted", "/var/tmp/tautochrone-planted", "/dev/shm/tautochrone-planted",
                              "planted", "/run/tautochrone-planted", "/dev/mqueue/planted"};
static socklen_t abstract(struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "\0tautochrone-planted"};
    return sizeof address->sun_family + 20;
}
int main(int argc, char **argv) {
    struct sockaddr_un address;
    socklen_t length = abstract(&address);
    int plant = argc > 1 && strcmp(argv[1], "plant") == 0;
    int name = socket(AF_UNIX, SOCK_STREAM, 0);
    if (plant) {
        for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) close(open(PATHS[i], O_WRONLY | O_CREAT, 0666));
        shmget(KEY, 4096, IPC_CREAT | 0666);
        semget(KEY, 1, IPC_CREAT | 0666);
        msgget(KEY, IPC_CREAT | 0666);
        mq_open("/planted", O_CREAT | O_RDWR, 0666, NULL);
        if (spawn() == 0) {
            setsid();
            if (bind(name, (struct sockaddr *)&address, length) == 0) listen(name, 1);
            sleep_for_ever();
        }
        nap(0.05);
        return 0;
    }
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++)
        if (access(PATHS[i], F_OK) == 0) breach("%s is still there", PATHS[i]);
    if (shmget(KEY, 0, 0) >= 0) breach("shared memory is still there");
    if (semget(KEY, 0, 0) >= 0) breach("the semaphore is still there");
    if (msgget(KEY, 0) >= 0) breach("the message queue is still there");
    if (mq_open("/planted", O_RDWR) != (mqd_t)-1) breach("the POSIX message queue is still there");
    if (name >= 0 && connect(name, (struct sockaddr *)&address, length) == 0) breach("the abstract socket still listens");
    return 0;
}
