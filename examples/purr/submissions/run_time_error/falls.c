#include <signal.h>
#include <stdio.h>

int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    raise(SIGSEGV);
    return 0;
}
