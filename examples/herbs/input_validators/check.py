"""Argument: k. The beds lie beside the validator, in beds.txt."""
import re
import sys

text = sys.stdin.buffer.read()
with open("beds.txt", "rb") as file:
    beds = file.read()
if len(sys.argv) != 2 or not re.fullmatch("0|[1-9][0-9]{0,2}", sys.argv[1]) or int(sys.argv[1]) > 300:
    sys.exit("k")
number = rb"(0|[1-9][0-9]{0,6})"
if not re.fullmatch(rb"[1-9][0-9]{0,2}\n" + number + rb"( " + number + rb")*\n", beds):
    sys.exit("malformed beds")
n, *leaves = map(int, beds.split())
if not 1 <= n <= 300 or len(leaves) != n or max(leaves) > 10**6:
    sys.exit("beds out of range")
if not re.fullmatch(rb"[1-9][0-9]?\n(" + number + rb" " + number + rb"\n)+", text):
    sys.exit("malformed")
q, *ends = map(int, text.split())
if not 1 <= q <= 20 or len(ends) != 2 * q:
    sys.exit("wrong number of stretches")
if not all(1 <= first <= last <= n for first, last in zip(ends[::2], ends[1::2])):
    sys.exit("stretch out of range")
sys.exit(42)
