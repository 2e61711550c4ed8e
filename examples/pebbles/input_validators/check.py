import re
import sys

text = sys.stdin.buffer.read()
if not re.fullmatch(rb"put (0|[1-9][0-9]{0,18})\n", text):
    sys.exit("malformed")
sys.exit(42 if int(text.split()[1]) <= 10**18 else "out of range")
