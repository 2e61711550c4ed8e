"""Plays the cat. Input: number of boards and board of the button. Whatever a submission does, this ends with 42 or 43."""
import os
import re
import sys

ACCEPTED, WRONG = 42, 43
MOST_QUESTIONS = int("{{questions}}")
LONGEST_LINE = 32


def finish(code, message):
    with open(os.path.join(sys.argv[3], "judgemessage.txt"), "a") as file:
        file.write(message + "\n")
    # Not sys.exit: output that nobody reads any more must not change the exit code.
    os._exit(code)


def say(text):
    try:
        os.write(1, text.encode() + b"\n")
    except OSError:
        pass  # Nobody listens any more; what the submission still says decides.


def command(source, n):
    """The next line of the submission as its sign and its board."""
    line = source.readline(LONGEST_LINE)
    if not line:
        finish(WRONG, "submission ended without an answer")
    found = re.fullmatch(rb"([?!]) ([1-9][0-9]{0,9})\r?\n?", line)
    if not found:
        finish(WRONG, f"malformed line: {line!r}")
    board = int(found[2])
    if board > n:
        finish(WRONG, f"no such board: {board}")
    return found[1], board


def check_end(source):
    """Nothing but white space may follow the answer."""
    for _ in range(1000):
        rest = source.read1(4096)
        if not rest:
            return
        if rest.strip():
            break
    finish(WRONG, "output after the answer")


def reply(button, before, board):
    if before is None or abs(board - button) == abs(before - button):
        return "same"
    return "louder" if abs(board - button) < abs(before - button) else "softer"


def main():
    with open(sys.argv[1]) as file:
        n, button = map(int, file.read().split())
    source = sys.stdin.buffer
    say(str(n))
    before = None
    for asked in range(MOST_QUESTIONS + 1):
        sign, board = command(source, n)
        if sign == b"!":
            check_end(source)
            if board != button:
                finish(WRONG, f"button is under {button}, not {board}")
            finish(ACCEPTED, f"found after {asked} questions")
        if asked == MOST_QUESTIONS:
            finish(WRONG, f"more than {MOST_QUESTIONS} questions")
        say(reply(button, before, board))
        before = board


main()
