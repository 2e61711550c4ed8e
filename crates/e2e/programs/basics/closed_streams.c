// expect: ok
// why: closes its streams at once and works on
#include "../hostile.h"
int main(void) {
    close(0);
    close(1);
    close(2);
    nap(0.05);
    return 0;
}
