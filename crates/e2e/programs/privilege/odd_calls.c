// run: --cpu-time 4 --wall-time 10
// expect: ok
// why: numbers of system calls that do not exist, with every argument wrong
#include "../hostile.h"
int main(void) {
    for (long number = 470; number < 1500; number++)
        if (syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) >= 0) breach("call %ld", number);
    if (syscall(-1L) != -1 || syscall(0xffffffffL) != -1) breach("call -1");
    return 0;
}
