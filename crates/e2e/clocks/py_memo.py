# Memoised recursion with lru_cache: digit sums, partitions into stones and a take-away game.
from functools import lru_cache


@lru_cache(maxsize=None)
def digits(left, total, tight, limit):
    if left == 0:
        return int(total % 7 == 3)
    top = int(limit[-left]) if tight else 9
    return sum(digits(left - 1, total + d, tight and d == top, limit) for d in range(top + 1))


@lru_cache(maxsize=None)
def parts(n, largest):
    if n == 0:
        return 1
    return sum(parts(n - k, k) for k in range(1, min(n, largest) + 1)) % 1000000007


@lru_cache(maxsize=None)
def wins(a, b, c):
    if a > b:
        a, b = b, a
        return wins(a, b, c)
    for k in range(1, 4):
        if a >= k and not wins(a - k, b, c):
            return True
        if b >= k and not wins(a, b - k, c):
            return True
        if c >= k and a % 2 == 0 and not wins(a, b, c - k):
            return True
    return False


def plain(n):
    return n if n < 2 else plain(n - 1) + plain(n - 2)


def main():
    a = sum(digits(len(s), 0, True, s) for s in ("123456789012345", "98765432109876", "55555555555"))
    b = sum(parts(n, n) for n in range(0, 170))
    c = sum(wins(i, j, k) for i in range(66) for j in range(66) for k in range(44))
    print(a, b, c, plain(24))


main()
