# One call for each ticket: too deep beyond group 1.
def good(ticket, k):
    if ticket == 0:
        return 0, 0
    count, greatest = good(ticket - 1, k)
    if sum(map(int, str(ticket))) % k == 0:
        return count + 1, ticket
    return count, greatest


print(*good(*map(int, input().split())))
