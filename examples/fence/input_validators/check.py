"""Argument: the greatest n of the group."""
import re
import sys

most = int(sys.argv[1]) if len(sys.argv) > 1 else 10**15
text = sys.stdin.buffer.read()
if not re.fullmatch(rb"[1-9][0-9]{0,15}\n", text):
    sys.exit("malformed")
sys.exit(42 if int(text) <= most else "out of range")
