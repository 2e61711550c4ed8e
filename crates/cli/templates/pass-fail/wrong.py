# Takes the absolute values.
input()
print(sum(abs(int(word)) for word in input().split()))
