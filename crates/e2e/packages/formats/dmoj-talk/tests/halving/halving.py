low, high = 1, 1000
while True:
    middle = (low + high) // 2
    print(middle)
    told = input()
    if told == "right":
        break
    low, high = (middle + 1, high) if told == "low" else (low, middle - 1)
