/* A right program to `snowwall` that trusts nobody: where it finds anything that an earlier run left, it says so and is wrong. Then it leaves
   behind whatever it can. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#define MARK "left-behind"
/* What the judge itself lays beside a program: it, and its source. */
#define OWN "program leftovers.c"
enum { KEY = 0x7a07 };

static int found;

static void tell(const char *what, const char *which) {
    fprintf(stderr, "found %s %s\n", what, which);
    found = 1;
}

static void files(const char *directory, int own) {
    DIR *open = opendir(directory);
    if (!open) return;
    for (struct dirent *entry; (entry = readdir(open));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") && strcmp(name, "..") && !(own && strstr(OWN, name))) tell(directory, name);
    }
    closedir(open);
}

static void processes(void) {
    DIR *open = opendir("/proc");
    if (!open) return;
    for (struct dirent *entry; (entry = readdir(open));) {
        int pid = atoi(entry->d_name);
        if (pid > 1 && pid != getpid()) tell("process", entry->d_name);
    }
    closedir(open);
}

static void objects(void) {
    if (shmget(KEY, 0, 0) >= 0) tell("System V", "shared memory");
    if (semget(KEY, 0, 0) >= 0) tell("System V", "semaphore");
    if (msgget(KEY, 0) >= 0) tell("System V", "queue");
    struct shmid_ds all;
    if (shmctl(0, SHM_INFO, &all) > 0) tell("System V", "some shared memory");
}

static void leave(void) {
    static const char *const names[] = {"./" MARK, "/tmp/" MARK, "/dev/shm/" MARK, "/var/tmp/" MARK, "/dev/mqueue/" MARK};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        int file = open(names[n], O_CREAT | O_WRONLY, 0666);
        if (file >= 0) close(file);
    }
    int memory = shmget(KEY, 4096, IPC_CREAT | 0666);
    if (memory >= 0) shmat(memory, NULL, 0);
    semget(KEY, 1, IPC_CREAT | 0666);
    msgget(KEY, IPC_CREAT | 0666);
    if (fork() == 0) {
        setsid();
        for (int file = 0; file < 64; file++) close(file);
        for (;;) pause();
    }
}

int main(void) {
    int days;
    files(".", 1);
    files("/tmp", 0);
    files("/dev/shm", 0);
    files("/var/tmp", 0);
    processes();
    objects();
    leave();
    if (scanf("%d", &days) != 1) return 1;
    while (days-- > 0) {
        long long n;
        if (scanf("%lld", &n) != 1) return 1;
        long long rows = (long long)sqrt(2.0 * (double)n);
        while (rows * (rows + 1) / 2 > n) rows--;
        while ((rows + 1) * (rows + 2) / 2 <= n) rows++;
        printf("%lld %lld\n", rows + found, n - rows * (rows + 1) / 2);
    }
    return 0;
}
