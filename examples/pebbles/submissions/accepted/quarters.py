# Digits instead of bits: in base 4, pebble 3 p + d stands for the digit d at place p.
word, *numbers = input().split()
numbers = list(map(int, numbers))
if word == "put":
    x = numbers[0]
    digits = [(place, x >> 2 * place & 3) for place in range(30)]
    pebbles = [3 * place + digit for place, digit in digits if digit]
    print(len(pebbles), *pebbles)
else:
    print(sum(((pebble - 1) % 3 + 1) << 2 * ((pebble - 1) // 3) for pebble in numbers[1:]))
