# Big integers: digits of pi by a spigot, powers, factorials and integer square roots.
from math import isqrt


def pi_digits(n):
    q, r, t, k, m, x = 1, 0, 1, 1, 3, 3
    out = []
    while len(out) < n:
        if 4 * q + r - t < m * t:
            out.append(m)
            q, r, m = 10 * q, 10 * (r - m * t), (10 * (3 * q + r)) // t - 10 * m
        else:
            q, r, t, k, m, x = q * k, (2 * q + r) * x, t * x, k + 1, (q * (7 * k + 2) + r * x) // (t * x), x + 2
    return out


def main():
    d = pi_digits(2300)
    h = 0
    for v in d:
        h = (h * 31 + v) % 1000000007
    f = 1
    for i in range(1, 5000):
        f *= i
    root = isqrt(2 * 10 ** 8000)
    text = str(root)
    e = pow(3, 2**1500 + 1, 10**240 + 7)
    print(h, f % (10**9 + 7), f.bit_length(), sum(map(int, text)), e % 1000003)


main()
