# Ignores the protocol and prints a megabyte of bytes.
import sys

sys.stdout.buffer.write(bytes(range(256)) * 4096)
