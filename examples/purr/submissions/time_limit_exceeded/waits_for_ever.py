# Expects the cat to speak first: both sides wait, and no processor time is used.
n = int(input())
first = input()
print("!", n)
