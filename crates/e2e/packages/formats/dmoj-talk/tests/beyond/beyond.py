print(1001)
input()
