// Maximum flow by Dinic's algorithm on layered networks and on bipartite assignments.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <queue>
#include <vector>
using namespace std;

struct Edge { int to; long long cap; };
struct Flow {
    vector<Edge> e;
    vector<vector<int>> g;
    vector<int> level, it;
    Flow(int n) : g(n), level(n), it(n) {}
    void add(int a, int b, long long c) {
        g[a].push_back(e.size()), e.push_back({b, c});
        g[b].push_back(e.size()), e.push_back({a, 0});
    }
    bool bfs(int s, int t) {
        queue<int> q({s});
        level.assign(level.size(), -1);
        for (level[s] = 0; !q.empty(); q.pop())
            for (int i : g[q.front()])
                if (int w = e[i].to; e[i].cap && level[w] < 0) level[w] = level[q.front()] + 1, q.push(w);
        return level[t] >= 0;
    }
    long long dfs(int v, int t, long long f) {
        if (v == t) return f;
        for (int& k = it[v]; k < (int)g[v].size(); k++) {
            int i = g[v][k];
            if (!e[i].cap || level[e[i].to] != level[v] + 1) continue;
            long long d = dfs(e[i].to, t, min(f, e[i].cap));
            e[i].cap -= d;
            e[i ^ 1].cap += d;
            if (d) return d;
        }
        return 0;
    }
    long long run(int s, int t) {
        long long total = 0;
        for (; bfs(s, t); it.assign(it.size(), 0))
            while (long long f = dfs(s, t, 1LL << 60)) total += f;
        return total;
    }
};

int main() {
    uint64_t s = 3, h = 0;
    auto rnd = [&](int n) { s = s * 6364136223846793005ULL + 1442695040888963407ULL; return int((s >> 33) % n); };
    for (int round = 0; round < 11; round++) {
        const int layers = 30, width = 40, n = layers * width + 2;
        Flow f(n);
        for (int i = 0; i < width; i++) f.add(n - 2, i, 400 + rnd(600)), f.add(n - 3 - i, n - 1, 400 + rnd(600));
        for (int l = 0; l + 1 < layers; l++)
            for (int k = 0; k < width * 6; k++) f.add(l * width + rnd(width), (l + 1) * width + rnd(width), 1 + rnd(200));
        h = h * 1000003 + f.run(n - 2, n - 1);
        const int side = 12000;
        Flow b(2 * side + 2);
        for (int i = 0; i < side; i++) {
            b.add(2 * side, i, 1), b.add(side + i, 2 * side + 1, 1);
            for (int k = 0; k < 3; k++) b.add(i, side + rnd(side), 1);
        }
        h = h * 1000003 + b.run(2 * side, 2 * side + 1);
    }
    printf("%llu\n", (unsigned long long)h);
}
