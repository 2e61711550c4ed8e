// expect: ok
// why: standard input without contents ends at once
#include "../hostile.h"
int main(void) {
    char byte;
    return read(0, &byte, 1) == 0 ? 0 : 66;
}
