for _ in range(int(input())):
    n = int(input())
    row = 1
    while n >= row:
        n -= row
        row += 1
    print(row - 1, n)
