import sys

number, output, answer = (open(path).read().split() for path in sys.argv[1:4])
if output == answer:
    sys.exit(0)
if output == ["5"] and number == ["9"]:
    print("points 7 close", file=sys.stderr)
    sys.exit(7)
print("wrong answer expected %s" % answer[0], file=sys.stderr)
sys.exit(1)
