import sys

number = open("input.txt").read().strip()
assert number == sys.stdin.read().strip()
from_first, to_first, from_second, to_second = sys.argv[1:5]


def ask(from_process, to_process, line):
    with open(to_process, "w") as said, open(from_process) as heard:
        said.write(line + "\n")
        said.flush()
        return heard.readline().strip()


note = ask(from_first, to_first, number)
found = ask(from_second, to_second, note)
# The shorter the note the better.
print(float(len(note)) if found == number and note else 0.0)
print("translate:success" if found == number else "translate:wrong", file=sys.stderr)
