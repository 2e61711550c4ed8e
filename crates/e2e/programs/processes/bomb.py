#!/usr/bin/python3
# run: --processes 8 --cpu-time 0.6 --wall-time 3
# expect: cpu_time_limit|wall_time_limit
# needs: python3
# why: forks from an interpreter that ignores every refusal
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
