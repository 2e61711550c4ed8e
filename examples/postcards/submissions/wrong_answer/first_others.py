# Everybody writes to the first k others: the first friends write to each other.
n, k = map(int, input().split())
if 2 * k > n - 1:
    print("no")
else:
    print("yes")
    for i in range(1, n + 1):
        print(*[j for j in range(1, n + 1) if j != i][:k])
