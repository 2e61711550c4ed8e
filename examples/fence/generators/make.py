"""Writes data/ of this package: run it in the package's directory. The output never changes."""
from pathlib import Path

P = 1_000_000_007


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column)) % P for column in zip(*b)] for row in a]


def solve(n):
    """Entry (i, j) of a step: ways from a plank of kind i to one of kind j; kind 0 is not blue, kind 1 is."""
    power, step = [[1, 0], [0, 1]], [[2, 1], [2, 0]]
    while n:
        if n % 2:
            power = times(power, step)
        step, n = times(step, step), n // 2
    return sum(power[0]) % P


def write(name, n):
    Path("data", name + ".in").write_text(f"{n}\n")
    Path("data", name + ".ans").write_text(f"{solve(n)}\n")


write("sample/1", 2)
write("sample/2", 5)
for i, n in enumerate([1, 3, 7, 12], 1):
    write(f"secret/1small/{i}", n)
for i, n in enumerate([50, 10**5, 10**13, 987_654_321_012_345, 10**15], 1):
    write(f"secret/2large/{i}", n)
