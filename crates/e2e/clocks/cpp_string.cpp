// Building, concatenating, searching and sorting strings.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>
using namespace std;

int main() {
    vector<string> words;
    unsigned s = 21;
    for (int i = 0; i < 700000; i++) {
        string w = "item";
        s = s * 1664525u + 1013904223u;
        w += to_string(s >> 8);
        for (unsigned k = 0; k < (s >> 28); k++) w.push_back('a' + (s >> k) % 26);
        words.push_back(w + "_" + to_string(i % 97));
    }
    sort(words.begin(), words.end());
    string all;
    for (auto& w : words) all += w + ",";
    size_t pos = 0, hits = 0;
    while ((pos = all.find("7_1", pos)) != string::npos) hits++, pos++;
    unsigned long long h = 0;
    for (size_t i = 0; i + 8 < all.size(); i += 5) {
        string t = all.substr(i, 8);
        reverse(t.begin(), t.end());
        h = h * 131 + (t < all.substr(i + 1, 7) ? t[0] : t[3]);
    }
    printf("%zu %zu %llu\n", all.size(), hits, h);
}
