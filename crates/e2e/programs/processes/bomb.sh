#!/bin/sh
# run: --processes 8 --cpu-time 0.5 --wall-time 2
# expect: cpu_time_limit|wall_time_limit|nonzero_exit|ok
# why: the classic of shells; the shell gives up when it may not fork
bomb() { bomb | bomb & }
bomb
while :; do wait; done
