import sys

answer, output = (open(path).read().split() for path in sys.argv[2:4])
right = len(output) == 2 and output[0] == answer[0]
print(1.0 if right and output[1] == answer[1] else 0.5 if right else 0.0)
print("translate:success" if right else "translate:wrong", file=sys.stderr)
