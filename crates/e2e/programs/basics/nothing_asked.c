// expect: ok
// why: control: arguments come as given, the environment is small, the user has no name of the host's
#include "../hostile.h"
extern char **environ;
int main(int argc, char **argv) {
    size_t bytes = 0;
    if (argc != 1 || !argv[0] || argv[1]) breach("%d arguments", argc);
    for (char **entry = environ; *entry; entry++) bytes += strlen(*entry) + 1;
    if (bytes > 4096) breach("%zu bytes of environment", bytes);
    return 0;
}
