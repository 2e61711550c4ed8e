def harvest(leaves, k):
    return 0
