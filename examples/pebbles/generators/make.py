"""Writes data/ of this package: run it in the package's directory. The output never changes."""
from pathlib import Path


def write(name, x):
    Path("data", name + ".in").write_text(f"put {x}\n")
    Path("data", name + ".ans").write_text(f"{x}\n")


write("sample/1", 5)
Path("data/sample/1.interaction").write_text("<put 5\n>2 1 3\n---\n<look 2 3 1\n>5\n")
Path("data/sample/1.in.download").write_text("put 5\n")
Path("data/sample/1.ans.download").write_text("5\n")
write("secret/01-zero", 0)
write("secret/02-one", 1)
write("secret/03-thousand", 1000)
write("secret/04-all-bits", 2**59 - 1)
write("secret/05-one-bit", 2**59)
write("secret/06-limit", 10**18)
write("secret/07-any", 677_245_031_199_004_237)
for name, text in {"too-large": "put 1000000000000000001\n", "look": "look 1 1\n", "negative": "put -1\n"}.items():
    Path("data/invalid_input", name + ".in").write_text(text)
