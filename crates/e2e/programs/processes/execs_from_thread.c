// expect: ok
// why: exec from a thread that is not the leader changes which thread carries the process's id
#include "../hostile.h"
static char **arguments;
static void *work(void *nothing) {
    (void)nothing;
    char *next[] = {arguments[0], "again", NULL};
    execv("/proc/self/exe", next);
    execv(arguments[0], next);
    broken("execv");
}
int main(int argc, char **argv) {
    if (argc > 1) return 0;
    arguments = argv;
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) broken("pthread_create");
    sleep_for_ever();
}
