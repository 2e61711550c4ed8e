"""Input validator: ends with 42 where the input, the secret number, is in range."""
import re
import sys

text = sys.stdin.buffer.read()
if not re.fullmatch(rb"[1-9][0-9]{0,3}\n", text):
    sys.exit("malformed")
sys.exit(42 if int(text) <= 1000 else "out of range")
