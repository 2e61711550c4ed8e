#!/bin/sh
# run: --output 1M
# expect: output_limit|nonzero_exit|signalled
# check: output_bytes <= 2*output
# why: the classic flood of shells, from a child of the shell
yes
