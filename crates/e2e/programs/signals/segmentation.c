// expect: signalled
// check: signal == 11
// why: a real fault, not a raised one
int main(void) {
    *(volatile int *)8 = 1;
    return 0;
}
