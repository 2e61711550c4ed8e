// run: --wall-time 0.4
// stdio: unread
// expect: wall_time_limit|output_limit
// why: writes into a pipe nobody empties: the program hangs, the judge must not
#include "../hostile.h"
int main(void) {
    pour(1, 4 * MIB, 65536);
    return 0;
}
