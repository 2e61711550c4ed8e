import re
import sys

text = sys.stdin.buffer.read()
if not re.fullmatch(rb"[1-9][0-9]{0,9} [1-9][0-9]{0,9}\n", text):
    sys.exit("malformed")
n, button = map(int, text.split())
sys.exit(42 if 1 <= button <= n <= 10**9 else "out of range")
