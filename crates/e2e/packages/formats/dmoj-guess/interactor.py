import sys
secret = int(open(sys.argv[1]).read())
for asked in range(1, 11):
    guess = int(input())
    print("right" if guess == secret else "low" if guess < secret else "high", flush=True)
    if guess == secret:
        if asked <= 4:
            sys.exit(0)
        print("partial 1/2", file=sys.stderr)
        sys.exit(7)
sys.exit(1)
