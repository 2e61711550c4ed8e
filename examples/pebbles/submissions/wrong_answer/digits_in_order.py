# The digits of x, first to last: the wind mixes them up.
word, *numbers = input().split()
if word == "put":
    print(len(numbers[0]), *[10 * int(digit) + place % 10 + 1 if int(digit) < 9 else 91 + place % 10 for place, digit in enumerate(numbers[0])])
else:
    print(int("".join(str((int(pebble) - 1) // 10) for pebble in numbers[1:])))
