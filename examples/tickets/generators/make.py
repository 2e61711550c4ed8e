"""Writes data/ of this package: run it in the package's directory. The output never changes."""
from functools import lru_cache
from pathlib import Path


def solve(n, k):
    digits = list(map(int, str(n)))

    @lru_cache(None)
    def ways(length, rest):
        """Strings of `length` digits whose sum leaves `rest` when divided by k."""
        if length == 0:
            return int(rest == 0)
        return sum(ways(length - 1, (rest - d) % k) for d in range(10))

    def greatest_ending(chosen, length):
        total = sum(chosen)
        if length == 0:
            return int("".join(map(str, chosen)))
        d = next(d for d in range(9, -1, -1) if ways(length - 1, -(total + d) % k))
        return greatest_ending(chosen + [d], length - 1)

    # Numbers from 0 to n: n itself, and those that leave its digits at place i for a smaller digit d.
    whole = sum(digits) % k == 0
    count, greatest = int(whole), n if whole else 0
    for i, top in enumerate(digits):
        for d in range(top):
            length = len(digits) - i - 1
            found = ways(length, -(sum(digits[:i]) + d) % k)
            count += found
            if found:
                greatest = max(greatest, greatest_ending(digits[:i] + [d], length))
    return count - 1, greatest


def write(name, n, k, out=None):
    count, greatest = solve(n, k)
    if n <= 10**6:
        good = [t for t in range(1, n + 1) if sum(map(int, str(t))) % k == 0]
        assert (count, greatest) == (len(good), max(good, default=0)), (n, k)
    Path("data", name + ".in").write_text(f"{n} {k}\n")
    Path("data", name + ".ans").write_text(f"{count} {greatest}\n")
    if out is not None:
        Path("data", name + ".out").write_text(out)


write("sample/1", 30, 5)
write("sample/2", 3, 4)
write("secret/group1/01", 1, 1)
write("secret/group1/02", 500, 7)
write("secret/group1/03", 499, 9)
write("secret/group2/01", 10**6, 9)
write("secret/group2/02", 777_777, 31)
write("secret/group2/03", 10**6, 53)
write("secret/group3/01", 10**18, 150)
write("secret/group3/02", 10**18 - 1, 1)
write("secret/group3/03", 987_654_321_987_654_321, 97)
write("secret/group3/04", 10**18, 100)
write("secret/group3/05", 600_000_000_000_000_000, 13)

write("valid_output/lines", 30, 5, "\n5\n\n28\n")
for name, out in {
    "empty": "",
    "count-only": "5\n",
    "greatest-wrong": "5 23\n",
    "count-wrong": "6 28\n",
    "three": "5 28 28\n",
    "leading-zero": "05 28\n",
    "words": "five twenty-eight\n",
    "long": "5 28" + " " * 5000 + "\n",
}.items():
    write("invalid_output/" + name, 30, 5, out)
for name, text in {"zero": "0 1\n", "no-divisor": "5 0\n", "too-large": "1000000000000000001 1\n"}.items():
    Path("data/invalid_input", name + ".in").write_text(text)
