// args: plain -- --json -x =
// expect: ok
// why: what follows the command belongs to it, however much it looks like options of ours
#include "../hostile.h"
int main(int argc, char **argv) {
    const char *want[] = {"plain", "--", "--json", "-x", "="};
    if (argc != 6) breach("%d arguments", argc);
    for (int i = 0; i < 5; i++)
        if (strcmp(argv[i + 1], want[i])) breach("argument %d is %s", i + 1, argv[i + 1]);
    return 0;
}
