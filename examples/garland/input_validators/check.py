import re
import sys
from decimal import Decimal

text = sys.stdin.buffer.read()
number = rb"[1-9][0-9]{0,4}(\.[0-9]{1,3})?"
if not re.fullmatch(rb"[1-9][0-9]{0,2}\n(" + number + rb" " + number + rb"\n)+", text):
    sys.exit("malformed")
first, *lines = text.decode().splitlines()
if not 1 <= int(first) <= 100 or len(lines) != int(first):
    sys.exit("wrong number of garlands")
for line in lines:
    d, length = map(Decimal, line.split())
    if not 1 <= d <= 1000 or not d + Decimal("0.001") <= length <= 10 * d:
        sys.exit(f"out of range: {line}")
sys.exit(42)
