"""Input validator: ends with 42 where the input is as the statement says."""
import re
import sys

text = sys.stdin.buffer.read()
if not re.fullmatch(rb"[1-9][0-9]{0,9}\n", text):
    sys.exit("malformed")
sys.exit(42 if 2 <= int(text) <= 10**9 else "out of range")
