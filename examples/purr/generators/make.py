"""Writes data/ of this package: run it in the package's directory. The output never changes."""
from pathlib import Path


def reply(button, before, board):
    difference = abs(board - button) - abs((board if before is None else before) - button)
    return "same" if difference == 0 else "softer" if difference > 0 else "louder"


def write(name, n, button):
    Path("data", name + ".in").write_text(f"{n} {button}\n")
    Path("data", name + ".ans").write_text(f"{button}\n")


def sample(name, n, button, boards):
    write(name, n, button)
    lines, before = [f"<{n}"], None
    for board in boards:
        lines += [f">? {board}", f"<{reply(button, before, board)}"]
        before = board
    Path("data", name + ".interaction").write_text("\n".join([*lines, f">! {button}"]) + "\n")
    Path("data", name + ".in.download").write_text(f"{n} {button}\n")
    Path("data", name + ".ans.download").write_text(f"{button}\n")


sample("sample/1", 10, 7, [5, 6, 8, 9])
write("secret/01-one-board", 1, 1)
write("secret/02-two-boards", 2, 2)
write("secret/03-first", 10**9, 1)
write("secret/04-last", 10**9, 10**9)
write("secret/05-middle", 999_999_937, 499_999_969)
write("secret/06-anywhere", 2**29 + 1, 271_828_182)
for name, text in {"no-boards": "0 0\n", "beside": "3 4\n", "too-wide": "1000000001 1\n"}.items():
    Path("data/invalid_input", name + ".in").write_text(text)
