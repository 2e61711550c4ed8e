#!/usr/bin/python3
# run: --memory 64M
# expect: memory_limit
# bare: memory_limit|nonzero_exit
# needs: python3
# check: memory_peak_bytes <= 68000000
# why: an interpreter that catches its own lack of memory and tries again
hoard = []
while True:
    try:
        hoard.append(b"x" * (1 << 22))
    except MemoryError:
        raise SystemExit(3)
