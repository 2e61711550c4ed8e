from math import isqrt

for _ in range(int(input())):
    n = int(input())
    rows = (isqrt(8 * n + 1) - 1) // 2
    print(rows, n - rows * (rows + 1) // 2)
