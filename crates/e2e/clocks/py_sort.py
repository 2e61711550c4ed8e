# Sorting lists of tuples with key functions.
def main():
    x = 7
    people = []
    for i in range(200000):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        people.append((x >> 20, "n%d" % (x % 5003), i))
    people.sort(key=lambda p: (p[0] % 100, p[1]))
    a = sum(i * p[2] for i, p in enumerate(people)) % 1000000007
    people.sort(key=lambda p: -p[0])
    b = sum(i * p[2] for i, p in enumerate(people)) % 1000000007
    names = sorted(set(p[1] for p in people), key=lambda s: (len(s), s[::-1]))
    print(a, b, len(names), names[0], names[-1])


main()
