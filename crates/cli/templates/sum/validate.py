"""Input validator: ends with 42 where the input is as the statement says. The argument is the largest number."""
import re
import sys

LARGEST = int(sys.argv[1]) if len(sys.argv) > 1 else 10**12

text = sys.stdin.buffer.read()
found = re.fullmatch(rb"([1-9][0-9]{0,5})\n((-?[0-9]+)( -?[0-9]+)*)\n", text)
if not found:
    sys.exit("malformed")
numbers = [int(word) for word in found[2].split()]
if len(numbers) != int(found[1]) or len(numbers) > 100_000:
    sys.exit("wrong count of numbers")
if any(abs(number) > LARGEST for number in numbers):
    sys.exit("number out of range")
sys.exit(42)
