# 58 points: group 1, and the two tests of group 2 with few planks.
n, other, blue = int(input()), 2, 1
while n > 1:
    other, blue = (2 * (other + blue)) % 1_000_000_007, other
    n -= 1
print((other + blue) % 1_000_000_007)
