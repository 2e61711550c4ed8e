import sys
n = int(sys.argv[1])
numbers = [(n * k * k + 7 * k) % 1000 - 500 for k in range(n + 2)]
print(len(numbers))
print(*numbers)
print(sum(numbers), file=sys.stderr)
