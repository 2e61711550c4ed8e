P = 1_000_000_007


def times(x, y):
    return (
        (x[0] * y[0] + x[1] * y[2]) % P, (x[0] * y[1] + x[1] * y[3]) % P,
        (x[2] * y[0] + x[3] * y[2]) % P, (x[2] * y[1] + x[3] * y[3]) % P,
    )


n, power, step = int(input()), (1, 0, 0, 1), (2, 1, 2, 0)
while n:
    if n & 1:
        power = times(power, step)
    step = times(step, step)
    n >>= 1
print((power[0] + power[1]) % P)
