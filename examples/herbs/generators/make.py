"""Writes data/ of this package: run it in the package's directory. The output never changes."""
import random
from pathlib import Path

BASKET = 1_000_000


def harvest(leaves, k):
    best = [0]
    for i, bed in enumerate(leaves):
        best.append(max(best[i], bed + best[max(i - k, 0)]))
    return best[-1]


def write(name, leaves, stretches, k, own_args=False):
    """`own_args`: k stands in the test case's own configuration, not in that of its group."""
    base = Path("data", name)
    files = base.with_name(base.name + ".files")
    files.mkdir(exist_ok=True)
    (files / "beds.txt").write_text(f"{len(leaves)}\n{' '.join(map(str, leaves))}\n")
    base.with_name(base.name + ".in").write_text("".join([f"{len(stretches)}\n", *(f"{a} {b}\n" for a, b in stretches)]))
    results = [min(harvest(leaves[a - 1:b], k), BASKET) for a, b in stretches]
    base.with_name(base.name + ".ans").write_text("".join(f"{x}\n" for x in results))
    if own_args:
        base.with_name(base.name + ".yaml").write_text(f'args: ["{k}"]\n')


rng = random.Random(8)


def garden(n, most):
    return [rng.randint(0, most) for _ in range(n)]


def stretches(n, q=19):
    return [(1, n)] + [tuple(sorted(rng.randint(1, n) for _ in range(2))) for _ in range(q)]


write("sample/1", [3, 9, 8, 2, 6], [(1, 5), (3, 3), (2, 4)], 1)
write("secret/01-one-bed", [7], [(1, 1)], 2)
write("secret/02-no-offence", garden(300, 3000), stretches(300), 0, True)
write("secret/03-group", garden(300, 5000), stretches(300), 2)
write("secret/04-neighbours", garden(300, 5000), stretches(300), 1, True)
write("secret/05-one-only", garden(300, 10**6), stretches(300), 300, True)
write("secret/06-basket", garden(300, 10**6), [(a, a + 1) for a in range(1, 10)] + stretches(300, 9), 2)
write("secret/07-empty", [0] * 300, stretches(300), 5, True)
