// args: {secret}
// expect: ok
// why: the host's secrets: password hashes, root's home, keys, a file of the caller
#include "../hostile.h"
int main(int argc, char **argv) {
    const char *paths[] = {argc > 1 ? argv[1] : "/", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.bashrc", "/root/.profile",
                           "/root/.ssh/authorized_keys", "/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ed25519_key",
                           "/proc/1/root/etc/shadow", "/var/lib/dpkg/status", "/var/log/dpkg.log", "/boot/config"};
    if (argc < 2) broken("no path given");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) MUST_FAIL(paths[i], open_for(paths[i], O_RDONLY));
    return 0;
}
