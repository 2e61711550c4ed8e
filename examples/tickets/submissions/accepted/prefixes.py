def main():
    text, k = input().split()
    k = int(k)
    digits = list(map(int, text))
    table = [[int(rest == 0) for rest in range(k)]]
    for _ in digits:
        table.append([sum(table[-1][(rest - d) % k] for d in range(10)) for rest in range(k)])

    def ways(length, total):
        return table[length][-total % k]

    count, greatest, before = -1, 0, 0
    for i, top in enumerate(digits):
        length = len(digits) - i - 1
        for d in range(top):
            found = ways(length, before + d)
            count += found
            if found:
                number, total = int(text[:i] + str(d)), before + d
                for left in range(length - 1, -1, -1):
                    e = next(e for e in range(9, -1, -1) if ways(left, total + e))
                    number, total = 10 * number + e, total + e
                greatest = max(greatest, number)
        before += top
    if before % k == 0:
        count, greatest = count + 1, int(text)
    print(count, greatest)


main()
