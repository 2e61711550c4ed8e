/* Never stops printing. */
#include <stdio.h>

int main(void) {
    for (;;) puts("snow snow snow snow snow snow snow snow snow snow snow snow");
}
