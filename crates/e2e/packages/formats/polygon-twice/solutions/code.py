what, number = input().split()
print(int(number) * 3 + 1 if what == "encode" else (int(number) - 1) // 3)
