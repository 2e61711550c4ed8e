"""Writes the secret tests. Run it in the package's directory: python3 generators/generate.py"""
for name, n in [("01-least", 2), ("02-odd", 7), ("03-most", 10**9)]:
    with open(f"data/secret/{name}.in", "w") as file:
        print(n, file=file)
    with open(f"data/secret/{name}.ans", "w") as file:
        print(1, n - 1, file=file)
