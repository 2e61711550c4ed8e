// run: --wall-time 0.4
// expect: wall_time_limit
// why: reads from a pipe that only it can write
#include "../hostile.h"
int main(void) {
    int ends[2];
    char byte;
    if (pipe(ends)) broken("pipe");
    return (int)read(ends[0], &byte, 1);
}
