// run: --cpu-time 1
// expect: ok
// check: exit_code == 0
// check: signal == null
// check: time.cpu_ns <= 0.02*cpu-time
// check: output_bytes == 0
// why: control: the empty program
int main(void) {
    return 0;
}
