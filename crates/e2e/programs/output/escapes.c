// expect: ok
// why: terminal escapes, NUL bytes and JSON in the output must not leak into the one JSON document
#include "../hostile.h"
int main(void) {
    const char text[] = "{\"status\": \"ok\"}\n\0\033]0;title\007\033[31m\xff\xfe}}}]]\n";
    pour(1, 0, 1);
    if (write(1, text, sizeof text) < 0 || write(2, text, sizeof text) < 0) return 1;
    return 0;
}
