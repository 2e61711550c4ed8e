"""Lets you play Mochi by hand: run your program in one terminal, this in another, and copy the lines."""
import sys

n, button = map(int, sys.argv[1:3])
print(n)
before = None
for line in sys.stdin:
    sign, board = line.split()
    if sign == "!":
        print("found" if int(board) == button else "not there")
        break
    near, nearer = abs(int(board) - button), abs((before or int(board)) - button)
    print("same" if near == nearer else "louder" if near < nearer else "softer")
    before = int(board)
