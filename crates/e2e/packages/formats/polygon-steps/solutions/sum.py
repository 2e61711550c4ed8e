number = int(input())
print(number * (number + 1) // 2)
