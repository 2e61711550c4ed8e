import re
import sys

text = sys.stdin.buffer.read()
if not re.fullmatch(rb"[1-9][0-9]{0,2} [1-9][0-9]{0,2}\n", text):
    sys.exit("malformed")
n, k = map(int, text.split())
sys.exit(42 if 1 <= k < n <= 100 else "out of range")
