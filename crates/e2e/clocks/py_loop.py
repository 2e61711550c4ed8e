# Plain loop arithmetic.
def main():
    x, total = 12345, 0
    for i in range(1, 3500001):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        if x % 3 == 0:
            total += x // i
        elif x & 8:
            total -= i
        else:
            total ^= x
    print(total, x)


main()
