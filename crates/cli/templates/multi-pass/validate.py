"""Input validator: ends with 42 where the input of the first pass is as the statement says."""
import re
import sys

text = sys.stdin.buffer.read()
if not re.fullmatch(rb"send (0|[1-9][0-9]{0,18})\n", text):
    sys.exit("malformed")
sys.exit(42 if int(text.split()[1]) <= 10**18 else "out of range")
