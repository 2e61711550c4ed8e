// Recursive-descent parser into a tree of variants (C++17), evaluated modulo a prime.
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <variant>
using namespace std;

struct Node;
using Ptr = unique_ptr<Node>;
struct Binary { char op; Ptr left, right; };
struct Node { variant<int, char, Binary> v; };

struct Parser {
    string_view s;
    char peek() const { return s.empty() ? ' ' : s.front(); }
    char take() { char c = peek(); s.remove_prefix(1); return c; }
    Ptr part(string_view ops) { return ops == "*" ? atom() : chain("*"); }
    Ptr chain(string_view ops) {
        Ptr a = part(ops);
        while (ops.find(peek()) != ops.npos) {
            char op = take();
            a = make_unique<Node>(Node{Binary{op, move(a), part(ops)}});
        }
        return a;
    }
    Ptr atom() {
        if (peek() == '(') { take(); Ptr a = chain("+-"); take(); return a; }
        if (isalpha(peek())) return make_unique<Node>(Node{take()});
        int x = 0;
        for (; isdigit(peek()); take()) x = x * 10 + (peek() - '0');
        return make_unique<Node>(Node{x});
    }
};

long long eval(const Node& n, long long seed) {
    const long long M = 998244353;
    if (auto* x = get_if<int>(&n.v)) return *x;
    if (auto* c = get_if<char>(&n.v)) return (seed + *c) % M;
    auto& [op, left, right] = get<Binary>(n.v);
    long long l = eval(*left, seed), r = eval(*right, seed);
    return op == '+' ? (l + r) % M : op == '-' ? (l - r + M) % M : l * r % M;
}

uint32_t s = 9;
uint32_t rnd(uint32_t n) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s % n; }

string generate(int depth) {
    if (depth == 0 || rnd(12) == 0) return rnd(2) ? string(1, 'a' + rnd(26)) : to_string(rnd(100000));
    string left = generate(depth - 1);
    return '(' + left + "+-*"[rnd(3)] + generate(depth - 1) + ')';
}

int main() {
    unsigned long long h = 0;
    for (int round = 0; round < 38; round++) {
        string text = generate(17);
        Ptr root = Parser{text}.chain("+-");
        for (int k = 0; k < 4; k++) h = h * 1000003 + eval(*root, k * 12345 + round);
    }
    printf("%llu\n", h);
}
