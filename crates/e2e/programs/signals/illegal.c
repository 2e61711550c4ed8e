// expect: signalled
// check: signal == 4
// why: an instruction that does not exist
int main(void) {
    __asm__ volatile("ud2");
    return 0;
}
