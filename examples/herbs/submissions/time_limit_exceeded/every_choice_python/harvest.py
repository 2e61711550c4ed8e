def harvest(leaves, k):
    """Looks at every set of beds."""
    best = 0
    for choice in range(1 << len(leaves)):
        beds = [bed for bed in range(len(leaves)) if choice >> bed & 1]
        if all(b - a > k for a, b in zip(beds, beds[1:])):
            best = max(best, sum(leaves[bed] for bed in beds))
    return best
