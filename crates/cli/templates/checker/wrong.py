# 0 is not positive.
print(0, int(input()))
