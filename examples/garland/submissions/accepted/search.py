from math import sinh

for _ in range(int(input())):
    d, length = map(float, input().split())
    low, high = 1e-9, 10.0
    for _ in range(100):
        u = (low + high) / 2
        if sinh(u) / u < length / d:
            low = u
        else:
            high = u
    print(d / low * sinh(low / 2) ** 2)
