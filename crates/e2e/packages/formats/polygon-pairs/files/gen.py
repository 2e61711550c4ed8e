import sys
n, step = map(int, sys.argv[1:])
print(n)
print(*[(k * step) % 4 for k in range(n)])
