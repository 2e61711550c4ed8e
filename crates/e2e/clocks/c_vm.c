// A small stack machine: a switch interpreter runs a program that counts abundant numbers.
#include <stdio.h>

enum { PUSH, LOAD, STORE, ADD, MUL, MOD, LESS, JZ, JMP, HALT };
enum { n, sum, d, count, hash };

static int prog[128], at;
static long long var[8], stack[64], steps;

static int op(int code, int arg) {
    prog[at++] = code;
    prog[at++] = arg;
    return at - 1;
}

static void step_up(int v, int by) { op(LOAD, v); op(PUSH, by); op(ADD, 0); op(STORE, v); }

static void run(void) {
    long long *sp = stack;
    for (const int *pc = prog;; steps++) {
        int a = pc[1];
        switch (*pc) {
        case PUSH: *sp++ = a; break;
        case LOAD: *sp++ = var[a]; break;
        case STORE: var[a] = *--sp; break;
        case ADD: sp--; sp[-1] += *sp; break;
        case MUL: sp--; sp[-1] *= *sp; break;
        case MOD: sp--; sp[-1] %= *sp; break;
        case LESS: sp--; sp[-1] = sp[-1] < *sp; break;
        case JZ: if (!*--sp) { pc = prog + a; continue; } break;
        case JMP: pc = prog + a; continue;
        case HALT: return;
        }
        pc += 2;
    }
}

int main(void) {
    op(PUSH, 1); op(STORE, n);
    int outer = at;
    op(LOAD, n); op(PUSH, 5200); op(LESS, 0); int end = op(JZ, 0);
    op(PUSH, 0); op(STORE, sum); op(PUSH, 1); op(STORE, d);
    int inner = at;
    op(LOAD, d); op(LOAD, n); op(LESS, 0); int done = op(JZ, 0);
    op(LOAD, n); op(LOAD, d); op(MOD, 0); int divides = op(JZ, 0); int skip = op(JMP, 0);
    prog[divides] = at;
    op(LOAD, sum); op(LOAD, d); op(ADD, 0); op(STORE, sum);
    prog[skip] = at;
    step_up(d, 1); op(JMP, inner);
    prog[done] = at;
    op(LOAD, n); op(LOAD, sum); op(LESS, 0); int poor = op(JZ, 0); step_up(count, 1);
    prog[poor] = at;
    op(LOAD, hash); op(PUSH, 31); op(MUL, 0); op(LOAD, sum); op(ADD, 0);
    op(PUSH, 1000003); op(MOD, 0); op(STORE, hash);
    step_up(n, 1); op(JMP, outer);
    prog[end] = at;
    op(HALT, 0); run();
    printf("%lld %lld %lld\n", var[count], var[hash], steps);
    return 0;
}
