"""Writes data/ of this package: run it in the package's directory. The output never changes."""
from pathlib import Path


def write(name, n, k, out=None):
    rows = [[(i + j) % n + 1 for j in range(1, k + 1)] for i in range(n)]
    answer = "no\n" if 2 * k > n - 1 else "yes\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows)
    Path("data", name + ".in").write_text(f"{n} {k}\n")
    Path("data", name + ".ans").write_text(answer)
    if out is not None:
        Path("data", name + ".out").write_text(out)


write("sample/1", 5, 2)
write("sample/2", 4, 2)
write("secret/01-two", 2, 1)
write("secret/02-three", 3, 1)
write("secret/03-loose", 50, 10)
write("secret/04-tight", 99, 49)
write("secret/05-just-too-many", 100, 50)
write("secret/06-largest", 100, 49)

write("valid_output/other-way", 3, 1, "yes\n3 1 2\n")
write("valid_output/spaces", 3, 1, "\n\n yes\t2\n\n\n3   1\n")
write("valid_output/no", 2, 1, "no\n")
for name, out in {
    "empty": "",
    "blank": "\n \n",
    "no-but-possible": "no\n",
    "neither": "maybe\n",
    "upper-case": "YES\n2\n3\n1\n",
    "self": "yes\n1\n3\n1\n",
    "both-ways": "yes\n2\n1\n1\n",
    "zero": "yes\n0\n3\n1\n",
    "four": "yes\n4\n3\n1\n",
    "negative": "yes\n-2\n3\n1\n",
    "fraction": "yes\n2.0\n3\n1\n",
    "huge-number": "yes\n" + "9" * 10000 + "\n3\n1\n",
    "too-short": "yes\n2\n3\n",
    "too-long": "yes\n2\n3\n1\n2\n",
    "not-text": "yes\n2\n3\n1\n\0",
}.items():
    write("invalid_output/" + name, 3, 1, out)
write("invalid_output/twice", 5, 2, "yes\n2 2\n3 4\n4 5\n5 1\n1 2\n")
write("invalid_output/yes-but-impossible", 2, 1, "yes\n2\n1\n")
for name, text in {"no-friends": "0 0\n", "too-many": "101 3\n", "all-others": "3 3\n", "space": "3  1\n"}.items():
    Path("data/invalid_input", name + ".in").write_text(text)
