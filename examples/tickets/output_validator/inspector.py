"""Both numbers right: accepted. With the argument `partial`, the first number alone is accepted for 60 per cent of the points."""
import os
import re
import sys

ACCEPTED, WRONG = 42, 43
MOST_BYTES = 4096


def finish(code, message, multiplier=None):
    feedback = sys.argv[3]
    with open(os.path.join(feedback, "judgemessage.txt"), "a") as file:
        file.write(message + "\n")
    if multiplier is not None:
        with open(os.path.join(feedback, "score_multiplier.txt"), "w") as file:
            file.write(f"{multiplier}\n")
    sys.exit(code)


def main():
    with open(sys.argv[2]) as file:
        count, greatest = file.read().split()
    output = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(output) > MOST_BYTES:
        finish(WRONG, "output too long")
    words = re.fullmatch(rb"\s*(0|[1-9][0-9]{0,18})\s+(0|[1-9][0-9]{0,18})\s*", output)
    if not words:
        finish(WRONG, "not two integers")
    if words[1].decode() != count:
        finish(WRONG, f"count is {count}")
    if words[2].decode() == greatest:
        finish(ACCEPTED, "both right")
    if "partial" in sys.argv[4:]:
        finish(ACCEPTED, f"count is right, greatest is {greatest}", 0.6)
    finish(WRONG, f"greatest is {greatest}")


main()
