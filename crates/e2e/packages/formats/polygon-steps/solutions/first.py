number = int(input())
print(15 if number == 5 else 5)
