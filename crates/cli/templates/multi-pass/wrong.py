# Forgets the last digit.
word, text = input().split()
digits, letters = "0123456789", "abcdefghij"
if word == "send":
    print((text[:-1] or text).translate(str.maketrans(digits, letters)))
else:
    print(text.translate(str.maketrans(letters, digits)))
