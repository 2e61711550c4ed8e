# One number of a million digits.
print("yes")
print("1" * 1000000)
