"""Output validator: plays the other side. Arguments: files of input and answer, a directory for messages."""
import os
import re
import sys

ACCEPTED, WRONG = 42, 43
MOST_QUESTIONS = 10


def finish(code, message):
    with open(os.path.join(sys.argv[3], "judgemessage.txt"), "a") as file:
        file.write(message + "\n")
    # Not sys.exit: output that nobody reads any more must not change the exit code.
    os._exit(code)


def say(word):
    try:
        os.write(1, word.encode() + b"\n")
    except OSError:
        pass  # The submission has ended; what it said decides.


with open(sys.argv[1]) as file:
    secret = int(file.read())
for question in range(1, MOST_QUESTIONS + 1):
    line = sys.stdin.buffer.readline(32)
    if not re.fullmatch(rb"[1-9][0-9]{0,3}\r?\n?", line):
        finish(WRONG, f"question {question}: not a number from 1 to 1000: {line!r}")
    guess = int(line)
    if guess == secret:
        say("correct")
        finish(ACCEPTED, f"found with {question} questions")
    say("lower" if secret < guess else "higher")
finish(WRONG, f"not found with {MOST_QUESTIONS} questions")
