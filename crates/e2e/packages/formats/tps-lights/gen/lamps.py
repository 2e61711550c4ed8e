import sys

count, most, seed = int(sys.argv[1]), int(sys.argv[2]), sum(sys.argv[3].encode())
print(count)
numbers = []
for _ in range(count):
    seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
    numbers.append(most - seed // 2**40 % (most // 10 + 1))
print(*numbers)
