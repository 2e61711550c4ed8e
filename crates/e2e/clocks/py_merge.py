# Scheduling with heapq, merging sorted runs, bisect and itertools.
import heapq
from bisect import bisect_left, insort
from itertools import accumulate, groupby


def main():
    x = 3
    jobs = []
    for i in range(110000):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        jobs.append((x >> 12) % 100000)
    free = [(0, m) for m in range(50)]
    finish = []
    for j in jobs:
        t, m = heapq.heappop(free)
        heapq.heappush(free, (t + j + m, m))
        finish.append(t + j)
    runs = [sorted(jobs[i::25]) for i in range(25)]
    merged = list(heapq.merge(*runs))
    groups = sum(len(list(g)) ** 2 for _, g in groupby(merged, key=lambda v: v // 50))
    prefix = list(accumulate(merged))
    hits = sum(bisect_left(prefix, t * 20) for t in finish)
    window, medians = [], 0
    for i, j in enumerate(jobs):
        insort(window, j)
        if len(window) > 301:
            del window[bisect_left(window, jobs[i - 301])]
        medians += window[len(window) // 2]
    top = heapq.nlargest(40, finish)
    print(max(free)[0], groups, hits, medians % 1000003, sum(top) % 1000003)


main()
