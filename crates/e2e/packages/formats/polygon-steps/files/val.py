import sys

group = sys.argv[sys.argv.index("--group") + 1]
number = int(sys.stdin.readline())
if not 1 <= number <= (10 if group == "small" else 1000):
    sys.exit("FAIL %d is not in the range of %s" % (number, group))
