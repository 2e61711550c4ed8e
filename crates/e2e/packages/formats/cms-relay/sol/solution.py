import sys

text = input()
alphabet = "".join(map(chr, range(33, 127)))
if sys.argv[1] == "0":
    number, note = int(text), ""
    while number:
        number, digit = divmod(number, len(alphabet))
        note += alphabet[digit]
    print(note)
else:
    print(sum(alphabet.index(letter) * len(alphabet) ** n for n, letter in enumerate(text)))
