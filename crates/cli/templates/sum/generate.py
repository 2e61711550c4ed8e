"""Writes the secret tests. Run it in the package's directory: python3 generators/generate.py"""
import random

# File below data/secret, count of numbers, largest number.
TESTS = {{tests}}

for name, count, largest in TESTS:
    random.seed(name)
    numbers = [random.randint(-largest, largest) for _ in range(count)]
    with open(f"data/secret/{name}.in", "w") as file:
        print(count, file=file)
        print(*numbers, file=file)
    with open(f"data/secret/{name}.ans", "w") as file:
        print(sum(numbers), file=file)
