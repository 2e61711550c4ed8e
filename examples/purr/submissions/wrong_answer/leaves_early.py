# Goes home after three questions.
n = int(input())
for board in range(1, min(n, 3) + 1):
    print("?", board, flush=True)
    input()
