n = int(input())
print("?", n + 1, flush=True)
