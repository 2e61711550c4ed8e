what, number = input().split()
print(int(number) * 3 + 1)
