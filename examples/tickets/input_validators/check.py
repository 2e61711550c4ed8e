"""Arguments: the greatest n and the greatest k of the group."""
import re
import sys

most_n, most_k = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (10**18, 150)
text = sys.stdin.buffer.read()
if not re.fullmatch(rb"[1-9][0-9]{0,18} [1-9][0-9]{0,2}\n", text):
    sys.exit("malformed")
n, k = map(int, text.split())
sys.exit(42 if n <= most_n and k <= most_k else "out of range")
