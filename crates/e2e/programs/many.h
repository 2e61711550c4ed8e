// For programs that make as many kernel objects as they can: several processes do, and hold them for a moment.
#ifndef MANY_H
#define MANY_H
#include "hostile.h"

// Runs `make` in so many children, each of which keeps what it made; all end together after `seconds`.
static inline int many(int children, double seconds, void (*make)(int child)) {
    for (int child = 0; child < children; child++) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid > 0) continue;
        make(child);
        sleep_for_ever();
    }
    nap(seconds);
    return 0;
}
#endif
