for _ in range(int(input()):
    print(input())
