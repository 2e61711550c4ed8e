from math import sqrt

for _ in range(int(input())):
    n = int(input())
    rows = int((sqrt(8 * n + 1) - 1) / 2)
    print(rows, n - rows * (rows + 1) // 2)
