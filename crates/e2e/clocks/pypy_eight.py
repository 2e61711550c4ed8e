# Eight puzzle: breadth-first search over all reachable boards kept as strings in a dictionary.
from collections import deque


def main():
    moves = [[] for _ in range(9)]
    for i in range(9):
        for d in (-3, -1, 1, 3):
            j = i + d
            if 0 <= j < 9 and (d in (-3, 3) or i // 3 == j // 3):
                moves[i].append(j)
    start = "123456780"
    dist = {start: 0}
    queue = deque([start])
    layers = [0] * 40
    h = 0
    limit = 181440
    while queue and len(dist) < limit:
        board = queue.popleft()
        d = dist[board]
        layers[d] += 1
        h = (h * 31 + int(board)) % 1000000007
        e = board.index("0")
        for to in moves[e]:
            tile = board[to]
            lo, hi = min(e, to), max(e, to)
            a, b = (tile, "0") if e < to else ("0", tile)
            nxt = board[:lo] + a + board[lo + 1 : hi] + b + board[hi + 1 :]
            if nxt not in dist:
                dist[nxt] = d + 1
                queue.append(nxt)
    print(len(dist), max(layers), h)


main()
