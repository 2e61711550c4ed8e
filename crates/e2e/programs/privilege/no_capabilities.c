// expect: ok
// why: no capability in any set, no new privileges ever, a system call filter in force, no group of the host
#include <grp.h>
#include "../hostile.h"
int main(void) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) broken("/proc/self/status");
    while (fgets(line, sizeof line, status)) {
        unsigned long long set;
        if (strncmp(line, "Cap", 3) == 0 && sscanf(line + 7, " %llx", &set) == 1 && set) breach("%s", line);
        if (strncmp(line, "Seccomp:", 8) == 0 && atoi(line + 8) != 2) breach("%s", line);
    }
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) breach("new privileges can be gained");
    if (prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) breach("new privileges can be allowed again");
    if (getuid() == 0 || geteuid() == 0 || getgid() == 0 || getegid() == 0) breach("uid %d, gid %d", getuid(), getgid());
    gid_t groups[64];
    int count = getgroups(64, groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == 0) breach("group 0");
    return 0;
}
