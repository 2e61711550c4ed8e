// expect: signalled
// check: signal == 8
// why: a real division by zero
int main(int argc, char **argv) {
    (void)argv;
    volatile int zero = argc - 1;
    return 7 / zero;
}
