def beginnings(leaves, k):
    """The best harvest of each beginning of a row."""
    best = [0]
    for i, bed in enumerate(leaves):
        best.append(max(best[i], bed + best[max(i - k, 0)]))
        yield best[-1]
