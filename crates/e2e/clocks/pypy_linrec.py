# Linear recurrences by matrix powers modulo a prime: far terms, sums and cycle counts of graphs.
M = 998244353


def multiply(a, b):
    n = len(a)
    out = []
    for i in range(n):
        row = [0] * n
        for k in range(n):
            x = a[i][k]
            if x:
                bk = b[k]
                for j in range(n):
                    row[j] = (row[j] + x * bk[j]) % M
        out.append(row)
    return out


def power(a, e):
    n = len(a)
    result = [[int(i == j) for j in range(n)] for i in range(n)]
    while e:
        if e & 1:
            result = multiply(result, a)
        a = multiply(a, a)
        e >>= 1
    return result


def main():
    s, h = 5, 0
    for round in range(20):
        n = 12 + 2 * round
        a = [[0] * n for _ in range(n)]
        for j in range(n):
            s = (s * 1103515245 + 12345) & 0x7FFFFFFF
            a[0][j] = s >> 16
        for i in range(1, n):
            a[i][i - 1] = 1
        p = power(a, 10**12 + s)
        h = (h * 31 + sum(p[0])) % M
        graph = [[0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                s = (s * 1103515245 + 12345) & 0x7FFFFFFF
                graph[i][j] = int(s >> 16 & 3 == 0) if i != j else 0
        q = power(graph, 1000 + round)
        h = (h * 31 + sum(q[i][i] for i in range(n))) % M
    print(h)


main()
