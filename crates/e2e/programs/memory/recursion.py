#!/usr/bin/python3
# run: --memory 256M
# expect: ok
# needs: python3
# why: control: deep recursion as submissions do it works, since the stack follows the memory limit
import sys
sys.setrecursionlimit(1 << 20)
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
assert depth(50000) == 50000
