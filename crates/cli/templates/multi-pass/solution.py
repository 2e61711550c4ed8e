word, text = input().split()
digits, letters = "0123456789", "abcdefghij"
print(text.translate(str.maketrans(digits, letters) if word == "send" else str.maketrans(letters, digits)))
