# Right for small numbers only: sums wrap at 32 bits, as in a language with such integers.
input()
total = sum(map(int, input().split()))
print((total + 2**31) % 2**32 - 2**31)
