// expect: ok
// why: no interface but the loopback
#include <net/if.h>
#include "../hostile.h"
int main(void) {
    struct if_nameindex *list = if_nameindex();
    for (struct if_nameindex *i = list; i && i->if_index; i++)
        if (strcmp(i->if_name, "lo")) breach("interface %s", i->if_name);
    return 0;
}
