"""Writes data/ of this package: run it in the package's directory. The output never changes."""
import random
from decimal import Decimal, getcontext
from pathlib import Path

getcontext().prec = 50


def depth(d, length):
    """Bisects u = d / 2a, where sinh(u) / u = length / d, with 50 digits."""
    d, length = Decimal(d), Decimal(length)
    low, high = Decimal("1e-9"), Decimal(10)
    for _ in range(120):
        u = (low + high) / 2
        if (u.exp() - (-u).exp()) / (2 * u) < length / d:
            low = u
        else:
            high = u
    return d / (2 * low) * ((low.exp() + (-low).exp()) / 2 - 1)


def write(name, garlands):
    Path("data", name + ".in").write_text(f"{len(garlands)}\n" + "".join(f"{d} {x}\n" for d, x in garlands))
    Path("data", name + ".ans").write_text("".join(f"{depth(d, x):.12f}\n" for d, x in garlands))


def thousandths(x):
    return f"{x // 1000}.{x % 1000:03}"


rng = random.Random(2)
write("sample/1", [("10", "12"), ("3.5", "35"), ("250", "250.001")])
write("secret/01-edges", [("1", "1.001"), ("1", "10"), ("1000", "1000.001"), ("1000", "10000"), ("1.001", "1.002")])
write("secret/02-taut", [(thousandths(d), thousandths(d + rng.randint(1, 50))) for d in rng.sample(range(1000, 1000001), 100)])
write("secret/03-slack", [(thousandths(d), thousandths(rng.randint(8 * d, 10 * d))) for d in rng.sample(range(1000, 1000001), 100)])
write("secret/04-any", [(thousandths(d), thousandths(rng.randint(d + 1, 10 * d))) for d in rng.sample(range(1000, 1000001), 100)])
