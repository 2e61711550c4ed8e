#!/bin/sh
# run: --wall-time 6
# expect: ok
# check: time.wall_ns <= 0.5*wall-time
# why: background jobs with nohup, left behind on purpose
nohup sleep 1000 >/dev/null 2>&1 &
(setsid sleep 1000 &)
exit 0
