"""Writes the secret tests. Run it in the package's directory: python3 generators/generate.py"""
for name, number in [("01-zero", 0), ("02-digits", 1234567890), ("03-most", 10**18)]:
    with open(f"data/secret/{name}.in", "w") as file:
        print("send", number, file=file)
    with open(f"data/secret/{name}.ans", "w") as file:
        print(number, file=file)
