print(2 * int(input()), sum(b"x" * (200 << 20)) == 0 and "" or "")
