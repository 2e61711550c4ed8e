import sys

from harvest import harvest

with open("beds.txt") as file:
    _, *leaves = map(int, file.read().split())
for _ in range(int(input())):
    first, last = map(int, input().split())
    print(min(harvest(leaves[first - 1:last], int(sys.argv[1])), {{basket}}))
