def harvest(leaves, k):
    """Picks the best bed, then the best of those that take no offence."""
    picked = []
    for bed in sorted(range(len(leaves)), key=lambda bed: -leaves[bed]):
        if all(abs(bed - other) > k for other in picked):
            picked.append(bed)
    return sum(leaves[bed] for bed in picked)
