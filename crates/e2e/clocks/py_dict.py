# Counting with dictionaries.
def main():
    counts = {}
    x = 1
    for i in range(2500000):
        x = (x * 69069 + 1) & 0xFFFFFFFF
        key = (x >> 12) % 50000
        counts[key] = counts.get(key, 0) + 1
    groups = {}
    for key, c in counts.items():
        groups.setdefault(c, []).append(key)
    pairs = sum(1 for key in counts if 2 * key in counts and counts[2 * key] > counts[key])
    print(len(counts), len(groups), max(groups), pairs)


main()
