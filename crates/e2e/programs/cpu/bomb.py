#!/usr/bin/python3
# run: --cpu-time 0.5
# expect: cpu_time_limit
# needs: python3
# why: one huge power: no byte code boundary at which an interpreter would look at a signal
import signal
for s in (signal.SIGXCPU, signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
    signal.signal(s, signal.SIG_IGN)
print(len(str(9 ** (9 ** 9))))
