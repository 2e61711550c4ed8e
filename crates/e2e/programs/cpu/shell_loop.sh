#!/bin/sh
# run: --cpu-time 0.3
# expect: cpu_time_limit
# why: a shell that starts a subshell at every step and traps what it can
trap '' TERM INT HUP XCPU
while :; do (:); done
