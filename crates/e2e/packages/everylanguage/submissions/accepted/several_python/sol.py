import sys, util
a,b=map(int,sys.stdin.read().split())
print(util.add(a,b))
if __name__ == "__main__": pass
