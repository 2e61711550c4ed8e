// Dijkstra with priority_queue on a random sparse graph.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <queue>
#include <vector>
using namespace std;

int main() {
    const int n = 250000, m = 1250000;
    vector<vector<pair<int, int>>> adj(n);
    uint64_t s = 9;
    auto rnd = [&](int k) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        return (int)((s >> 33) % k);
    };
    for (int i = 0; i < m; i++) {
        int u = rnd(n), v = rnd(n), w = 1 + rnd(1000);
        adj[u].push_back({v, w});
        adj[v].push_back({u, w});
    }
    const long long inf = 1e18;
    unsigned long long h = 0;
    for (int src = 0; src < 2; src++) {
        vector<long long> dist(n, inf);
        priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<>> q;
        dist[src] = 0;
        q.push({0, src});
        while (!q.empty()) {
            auto [d, u] = q.top();
            q.pop();
            if (d != dist[u]) continue;
            for (auto [v, w] : adj[u])
                if (d + w < dist[v]) {
                    dist[v] = d + w;
                    q.push({dist[v], v});
                }
        }
        for (int i = 0; i < n; i++) h = h * 31 + dist[i];
    }
    printf("%llu\n", h);
}
