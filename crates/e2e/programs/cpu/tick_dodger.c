// run: --cpu-time 0.2 --wall-time 20
// expect: cpu_time_limit
// why: burns in pieces shorter than a tick and sleeps between: accounting by ticks would see little
#include "../hostile.h"
int main(void) {
    for (;;) {
        burn(0.0005);
        nap(0.0002);
    }
}
