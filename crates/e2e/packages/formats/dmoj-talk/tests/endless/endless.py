while True:
    print("1" * 65536, end="")
