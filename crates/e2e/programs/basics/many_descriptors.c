// expect: ok
// why: opens as many files as it may: there is a bound
#include "../hostile.h"
int main(void) {
    int count = 0;
    while (open("/dev/null", O_RDONLY) >= 0)
        if (++count > 70000) breach("%d open files", count);
    if (count < 250) breach("only %d open files", count);
    return 0;
}
