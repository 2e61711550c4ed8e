// Breadth-first search over a large grid with random walls.
#include <cstdint>
#include <cstdio>
#include <queue>
#include <string>
#include <vector>
using namespace std;

int main() {
    const int n = 2000;
    vector<string> g(n, string(n, '.'));
    uint32_t s = 8;
    for (auto& row : g)
        for (auto& c : row) {
            s ^= s << 13; s ^= s >> 17; s ^= s << 5;
            if (s % 100 < 30) c = '#';
        }
    unsigned long long h = 0;
    int dx[] = {1, 0, -1, 0}, dy[] = {0, 1, 0, -1};
    for (int round = 0; round < 3; round++) {
        vector<vector<int>> dist(n, vector<int>(n, -1));
        queue<pair<int, int>> q;
        int sx = round * 700, sy = n / 2;
        g[sx][sy] = '.';
        dist[sx][sy] = 0;
        q.push({sx, sy});
        while (!q.empty()) {
            auto [x, y] = q.front();
            q.pop();
            h += dist[x][y];
            for (int k = 0; k < 4; k++) {
                int a = x + dx[k], b = y + dy[k];
                if (a < 0 || b < 0 || a >= n || b >= n || g[a][b] == '#' || dist[a][b] >= 0) continue;
                dist[a][b] = dist[x][y] + 1;
                q.push({a, b});
            }
        }
    }
    printf("%llu\n", h);
}
