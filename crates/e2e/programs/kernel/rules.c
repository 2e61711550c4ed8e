// run: --memory 16M --processes 32
// expect: ok
// host: 48M
// why: Landlock rules in as many processes and as often as they may be had, and futex tables of a size of one's choice
#include "../many.h"
static void make(int child) {
    unsigned long handled[3] = {0x1fff, 0, 0};
    struct {
        unsigned long access;
        int parent;
    } __attribute__((packed)) beneath = {1, open("/", O_PATH)};
    if (child % 2) prctl(78, 1, 1 << 20, 0, 0);
    for (int layer = 0; layer < 200; layer++) {
        int rules = (int)syscall(444, handled, 8, 0);
        if (rules < 0) return;
        for (int i = 0; i < 200; i++) {
            char name[32];
            snprintf(name, sizeof name, "d%d", i);
            mkdir(name, 0700);
            beneath.parent = open(name, O_PATH);
            syscall(445, rules, 1, &beneath, 0);
            close(beneath.parent);
        }
        if (layer < 16) syscall(446, rules, 0);
    }
}
int main(void) { return many(24, 0.4, make); }
