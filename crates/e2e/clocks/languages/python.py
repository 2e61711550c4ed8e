s, a, seen = 1, [], {}
for i in range(60000):
    s = (s * 1103515245 + 12345) & 0xFFFFFFFF
    a.append(s >> 8)
    seen[str(s % 1000)] = seen.get(str(s % 1000), 0) + 1
a.sort()
print(a[len(a) // 2], len(set(map(str, a))), seen["7"])
