"""Output validator: any pair that fits. Arguments: files of input and answer, a directory for messages; the output is standard input."""
import os
import re
import sys

ACCEPTED, WRONG = 42, 43


def finish(code, message):
    with open(os.path.join(sys.argv[3], "judgemessage.txt"), "a") as file:
        file.write(message + "\n")
    sys.exit(code)


with open(sys.argv[1]) as file:
    n = int(file.read())
found = re.fullmatch(rb"\s*([1-9][0-9]{0,9})\s+([1-9][0-9]{0,9})\s*", sys.stdin.buffer.read(1000))
if not found:
    finish(WRONG, "not two positive integers")
a, b = int(found[1]), int(found[2])
finish(ACCEPTED if a + b == n else WRONG, f"{a} + {b} = {a + b}, wanted {n}")
