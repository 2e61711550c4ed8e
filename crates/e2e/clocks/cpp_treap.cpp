// Implicit treap with lazy reversal: cutting, reversing and pasting ranges of a sequence.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>
using namespace std;

struct Node { int left = 0, right = 0, size = 1, value = 0; int prio = 0; bool rev = false; };
static vector<Node> t(1);

static void push(int v) {
    if (!v || !t[v].rev) return;
    swap(t[v].left, t[v].right);
    t[t[v].left].rev ^= 1;
    t[t[v].right].rev ^= 1;
    t[v].rev = false;
}
static void pull(int v) { t[v].size = t[t[v].left].size + t[t[v].right].size + 1; }

static void split(int v, int k, int& a, int& b) {
    if (!v) { a = b = 0; return; }
    push(v);
    int before = t[t[v].left].size;
    if (before < k) split(t[v].right, k - before - 1, t[v].right, b), a = v;
    else split(t[v].left, k, a, t[v].left), b = v;
    pull(v);
}

static int merge(int a, int b) {
    if (!a || !b) return a ? a : b;
    push(a), push(b);
    int top = t[a].prio > t[b].prio ? a : b;
    if (top == a) t[a].right = merge(t[a].right, b); else t[b].left = merge(a, t[b].left);
    pull(top);
    return top;
}

static uint64_t walk(int v, uint64_t h) {
    if (!v) return h;
    push(v);
    return walk(t[v].right, walk(t[v].left, h) * 1000003 + t[v].value);
}

int main() {
    const int n = 120000;
    uint64_t s = 6;
    auto rnd = [&](int k) { s = s * 6364136223846793005ULL + 1442695040888963407ULL; return int((s >> 33) % k); };
    t[0].size = 0;
    int root = 0;
    for (int i = 1; i <= n; i++) {
        t.push_back({0, 0, 1, i, rnd(1 << 30)});
        root = merge(root, i);
    }
    for (int q = 0; q < 190000; q++) {
        int l = rnd(n), len = 1 + rnd(n - l), a, b, c;
        split(root, l, a, b);
        split(b, len, b, c);
        t[b].rev ^= 1;
        root = q % 3 ? merge(merge(a, b), c) : merge(merge(b, a), c);
    }
    printf("%llu\n", (unsigned long long)walk(root, 0));
}
