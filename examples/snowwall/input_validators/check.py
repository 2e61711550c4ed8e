import re
import sys

text = sys.stdin.buffer.read()
number = rb"(0|[1-9][0-9]{0,18})\n"
if not re.fullmatch(rb"[1-9][0-9]{0,2}\n(" + number + rb")+", text):
    sys.exit("malformed")
days, *counts = map(int, text.split())
if not 1 <= days <= 100 or len(counts) != days:
    sys.exit("wrong number of days")
if not all(n <= 10**18 for n in counts):
    sys.exit("too many snowballs")
sys.exit(42)
