"""Writes the secret tests. Run it in the package's directory: python3 generators/generate.py"""
for name, n in [("01-first", 1), ("02-last", 1000), ("03-middle", 500), ("04-any", 777)]:
    with open(f"data/secret/{name}.in", "w") as file:
        print(n, file=file)
    with open(f"data/secret/{name}.ans", "w") as file:
        print(n, file=file)
