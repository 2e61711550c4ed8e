// expect: ok
// why: control: the devices programs rely on are there and work
#include "../hostile.h"
int main(void) {
    char byte = 1;
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDONLY), full = open("/dev/full", O_WRONLY);
    int random = open("/dev/random", O_RDONLY), urandom = open("/dev/urandom", O_RDONLY);
    if (null < 0 || write(null, "x", 1) != 1 || read(null, &byte, 1) != 0) breach("/dev/null");
    if (zero < 0 || read(zero, &byte, 1) != 1 || byte != 0) breach("/dev/zero");
    if (full >= 0 && write(full, "x", 1) == 1) breach("/dev/full");
    if (random < 0 || urandom < 0 || read(urandom, &byte, 1) != 1) breach("/dev/urandom");
    if (access("/dev/fd/0", F_OK) || access("/dev/stdout", F_OK)) breach("/dev/fd");
    return 0;
}
