// run: --cpu-time 2
// expect: ok
// check: time.cpu_ns >= 0.099*cpu-time
// check: time.cpu_ns <= 0.15*cpu-time
// why: control: a tenth of the limit is charged as a tenth, and is no fault
#include "../hostile.h"
int main(void) {
    burn(0.2);
    return 0;
}
