# Takes the garland for a parabola, which is close only while it is taut.
from math import sqrt

for _ in range(int(input())):
    d, length = map(float, input().split())
    print(sqrt(3 * d * (length - d) / 8))
