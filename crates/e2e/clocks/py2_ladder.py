# Word ladders in Python 2: wildcard buckets and breadth-first search over generated words.
from collections import deque


def main():
    x = 21
    words, known = [], set()
    while len(words) < 2600:
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        w = ''.join('abcdefg'[(x >> (8 + 4 * i)) % 7] for i in xrange(5))
        if w not in known:
            known.add(w)
            words.append(w)
    buckets = {}
    for w in words:
        for i in xrange(5):
            buckets.setdefault(w[:i] + '_' + w[i + 1:], []).append(w)
    total, reached, longest = 0, 0, 0
    for start in words[:55]:
        dist = {start: 0}
        queue = deque([start])
        while queue:
            w = queue.popleft()
            for i in xrange(5):
                for v in buckets[w[:i] + '_' + w[i + 1:]]:
                    if v not in dist:
                        dist[v] = dist[w] + 1
                        queue.append(v)
        reached += len(dist)
        for w in words:
            if w in dist:
                total = (total * 31 + dist[w]) % 1000000007
                longest = max(longest, dist[w])
    print '%d %d %d %d' % (len(buckets), reached, longest, total)


main()
