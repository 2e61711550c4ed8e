# One call for each row: too deep for a high wall.
def build(row, n):
    return (row - 1, n) if n < row else build(row + 1, n - row)


for _ in range(int(input())):
    print(*build(1, int(input())))
