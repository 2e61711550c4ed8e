// What the hostile programs share. Exit codes: 0 the attack was contained (or did no harm), 3 the system refused
// the resource, 66 the attack got through, 67 the program could not make its attempt.
#ifndef HOSTILE_H
#define HOSTILE_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)
#define GIB ((size_t)1024 * 1024 * 1024)

static inline _Noreturn void end(int code, const char *word, const char *format, va_list list) {
    int saved = errno;
    dprintf(2, "%s: ", word);
    vdprintf(2, format, list);
    dprintf(2, " (errno %d, %s)\n", saved, strerror(saved));
    _exit(code);
}

static inline _Noreturn void breach(const char *format, ...) {
    va_list list;
    va_start(list, format);
    end(66, "breach", format, list);
}

static inline _Noreturn void refused(const char *format, ...) {
    va_list list;
    va_start(list, format);
    end(3, "refused", format, list);
}

static inline _Noreturn void broken(const char *format, ...) {
    va_list list;
    va_start(list, format);
    end(67, "broken", format, list);
}

static inline double clock_seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

// Burns CPU time: this much of the calling thread's, for ever when negative.
static inline void burn(double seconds) {
    double until = clock_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
    do {
        for (volatile int i = 0; i < 100000; i++) {
        }
    } while (seconds < 0 || clock_seconds(CLOCK_THREAD_CPUTIME_ID) < until);
}

static inline _Noreturn void burn_for_ever(void) {
    burn(-1);
    _exit(67);
}

static inline _Noreturn void sleep_for_ever(void) {
    for (;;) pause();
}

static inline void nap(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

// Writes to every page.
static inline void touch(void *memory, size_t size) {
    for (size_t i = 0; i < size; i += 4096) ((volatile char *)memory)[i] = (char)(i >> 12 | 1);
}

static inline void *map(size_t size, int flags) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) refused("mmap of %zu bytes", size);
    return memory;
}

static inline pid_t spawn(void) {
    pid_t pid = fork();
    if (pid < 0) broken("fork");
    return pid;
}

// Writes `total` bytes to a descriptor in pieces of `piece`; what the system refuses ends the program.
static inline void pour(int fd, size_t total, size_t piece) {
    char *block = malloc(piece);
    memset(block, 'x', piece);
    for (size_t done = 0; done < total;) {
        ssize_t n = write(fd, block, piece);
        if (n <= 0) refused("write after %zu bytes", done);
        done += (size_t)n;
    }
    free(block);
}

// Makes one attempt in a child, which a filter may kill; a result other than -1 is a breach.
#define MUST_FAIL(what, call)                                               \
    do {                                                                    \
        pid_t attempt_ = spawn();                                           \
        if (attempt_ == 0) {                                                \
            errno = 0;                                                      \
            if ((long)(call) != -1) breach("%s went through", what);        \
            dprintf(2, "contained: %s: %s\n", what, strerror(errno));       \
            _exit(0);                                                       \
        }                                                                   \
        int status_ = 0;                                                    \
        while (waitpid(attempt_, &status_, 0) < 0 && errno == EINTR) {      \
        }                                                                   \
        if (WIFEXITED(status_) && WEXITSTATUS(status_) != 0) _exit(66);     \
    } while (0)

static inline long open_for(const char *path, int flags) {
    return open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Opens a file and writes back what stands in it: -1 when either is refused. A file that opens, but cannot be read,
// counts as writable.
static inline long write_back(const char *path) {
    char text[4096];
    int reading = (int)open_for(path, O_RDONLY), writing = (int)open_for(path, O_WRONLY);
    ssize_t size = reading < 0 || writing < 0 ? 0 : read(reading, text, sizeof text);
    long result = writing < 0 ? -1 : size <= 0 ? 0 : write(writing, text, (size_t)size);
    if (reading >= 0) close(reading);
    if (writing >= 0) close(writing);
    return result;
}

#endif
