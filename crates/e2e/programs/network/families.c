// expect: ok
// why: every socket family but UNIX: virtual machine sockets reach the hypervisor past all namespaces, netlink and internet ones keep memory that is charged to nobody
#include "../hostile.h"
int main(void) {
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX) continue;
        char name[32];
        for (int type = 1; type <= 5; type++) {
            snprintf(name, sizeof name, "family %d, type %d", family, type);
            int fd = socket(family, type, 0);
            if (fd >= 0) breach("socket of %s", name);
        }
    }
    return 0;
}
