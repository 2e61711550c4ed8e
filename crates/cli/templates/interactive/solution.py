least, most = 1, 1000
while least <= most:
    middle = (least + most) // 2
    print(middle, flush=True)
    answer = input()
    if answer == "correct":
        break
    if answer == "lower":
        most = middle - 1
    else:
        least = middle + 1
