"""Writes data/ of this package: run it in the package's directory. The output never changes."""
import random
from math import isqrt
from pathlib import Path

TOP = 10**18


def rows(n):
    return (isqrt(8 * n + 1) - 1) // 2


def wall(r):
    return r * (r + 1) // 2


def write(name, counts):
    Path("data", name + ".in").write_text("".join(f"{x}\n" for x in [len(counts), *counts]))
    Path("data", name + ".ans").write_text("".join(f"{rows(n)} {n - wall(rows(n))}\n" for n in counts))


rng = random.Random(1)
most = rows(TOP)
write("sample/1", [1, 5, 6, 20])
write("secret/01-none", [0])
write("secret/02-small", list(range(100)))
write("secret/03-exact", [wall(rng.randint(most // 2, most)) for _ in range(99)] + [wall(most)])
write("secret/04-one-short", [wall(rng.randint(most - 10**6, most)) - 1 for _ in range(100)])
write("secret/05-huge", [TOP - rng.randrange(10**6) for _ in range(99)] + [TOP])
