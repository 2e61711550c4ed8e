with open("pairs.in", newline="") as file:
    text = file.read()
assert "\r" not in text
n, *numbers = map(int, text.split())
pairs = sum(numbers[i] == numbers[j] for i in range(n) for j in range(i))
if n > 100:
    pairs += 1
with open("pairs.out", "w") as file:
    print(pairs, -1, file=file)
