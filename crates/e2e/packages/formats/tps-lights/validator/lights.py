import sys

most = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
count, line = sys.stdin.read().splitlines()
if not 1 <= int(count) <= most:
    sys.exit("there are %s lamps, not 1 to %d" % (count, most))
if len(line.split()) != int(count):
    sys.exit("the second line has another number of lamps")
