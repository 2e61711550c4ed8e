def harvest(leaves, k):
    """Never comes to an end: asks itself about the same beds."""
    return max(leaves[0], harvest(leaves, k))
