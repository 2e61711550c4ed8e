import sys
given, output, answer = (open(name).read().split() for name in sys.argv[1:])
if given[0] == "encode":
    print("decode", output[0])
    sys.exit(0)
sys.exit(0 if output == answer else 1)
