# Looks for the greatest ticket among the last thousand only.
def main():
    text, k = input().split()
    n, k = int(text), int(k)
    row = [int(rest == 0) for rest in range(k)]
    table = [row]
    for _ in text:
        table.append([sum(table[-1][(rest - d) % k] for d in range(10)) for rest in range(k)])
    count, before = -1, 0
    for i, top in enumerate(map(int, text)):
        for d in range(top):
            count += table[len(text) - i - 1][-(before + d) % k]
        before += top
    count += before % k == 0
    last = (t for t in range(n, max(n - 1000, 0), -1) if sum(map(int, str(t))) % k == 0)
    print(count, next(last, 0))


main()
