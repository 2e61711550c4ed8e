// run: --output 1M
// expect: output_limit
// check: output_bytes <= 2*output
// why: floods with scattered writes of 64 MiB each
#include "../hostile.h"
int main(void) {
    static char block[65536];
    struct iovec parts[IOV_MAX];
    for (int i = 0; i < IOV_MAX; i++) parts[i] = (struct iovec){block, sizeof block};
    for (int i = 0; i < 16; i++)
        if (writev(1, parts, IOV_MAX) <= 0) refused("writev");
    return 0;
}
