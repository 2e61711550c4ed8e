# Rolling hashes: longest repeated and longest common substrings by binary search on the length.
M = (1 << 61) - 1
B = 911382323


def windows(s, k):
    top = pow(B, k, M)
    h = 0
    out = []
    for i, c in enumerate(s):
        h = (h * B + c) % M
        if i >= k:
            h = (h - s[i - k] * top) % M
        if i >= k - 1:
            out.append(h)
    return out


def repeated(s, k):
    seen = set()
    for h in windows(s, k):
        if h in seen:
            return True
        seen.add(h)
    return False


def common(s, t, k):
    seen = set(windows(s, k))
    return any(h in seen for h in windows(t, k))


def longest(test, limit):
    low, high = 0, limit
    while low < high:
        mid = (low + high + 1) // 2
        if test(mid):
            low = mid
        else:
            high = mid - 1
    return low


def main():
    x = 7
    texts = []
    for n in (40000, 45000):
        s = []
        for i in range(n):
            x = (x * 22695477 + 1) & 0xFFFFFFFF
            s.append(s[i - 900] if i > 1000 and (x >> 16) % 60 else 97 + (x >> 20) % 4)
        texts.append(s)
    a, b = texts
    print(longest(lambda k: repeated(a, k), 4000), longest(lambda k: common(a, b, k), 4000), x)


main()
