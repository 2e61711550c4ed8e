def ask(board):
    print("?", board, flush=True)
    return input()


low, high = 1, int(input())
while low < high:
    middle = (low + high) // 2
    ask(middle)
    if ask(middle + 1) == "louder":
        low = middle + 1
    else:
        high = middle
print("!", low, flush=True)
