// run: --cpu-time 0.3
// expect: cpu_time_limit
// check: time.cpu_ns >= 1*cpu-time
// check: time.cpu_ns <= 1.5*cpu-time
// why: the plain endless loop
int main(void) {
    for (;;) __asm__ volatile("");
}
