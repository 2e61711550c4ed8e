// Aho-Corasick: occurrences of many short patterns in a long generated text.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>
using namespace std;

int main() {
    uint32_t s = 2024;
    auto rnd = [&](uint32_t n) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s % n; };
    vector<array<int, 6>> go(1);
    vector<int> ends(1), link(1);
    for (int i = 0; i < 30000; i++) {
        int v = 0;
        for (int len = 4 + rnd(7); len--;) {
            int c = rnd(6) * rnd(6) / 5;
            if (!go[v][c]) {
                go[v][c] = go.size();
                go.push_back({});
                ends.push_back(0);
                link.push_back(0);
            }
            v = go[v][c];
        }
        ends[v]++;
    }
    vector<int> order{0};
    for (size_t i = 0; i < order.size(); i++) {
        int v = order[i];
        for (int c = 0; c < 6; c++) {
            int w = go[v][c], back = v ? go[link[v]][c] : 0;
            if (w) {
                link[w] = back;
                ends[w] += ends[back];
                order.push_back(w);
            } else {
                go[v][c] = back;
            }
        }
    }
    string text(24000000, 'a');
    for (auto& c : text) c += rnd(6) * rnd(6) / 5;
    unsigned long long total = 0, h = 0;
    int v = 0;
    for (char c : text) {
        v = go[v][c - 'a'];
        total += ends[v];
        h = h * 31 + ends[v];
    }
    printf("%zu %llu %llu\n", go.size(), total, h);
}
