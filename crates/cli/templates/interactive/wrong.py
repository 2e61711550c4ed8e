# One number after the other: too many questions.
for number in range(1, 1001):
    print(number, flush=True)
    if input() == "correct":
        break
