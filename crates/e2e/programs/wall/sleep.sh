#!/bin/sh
# run: --wall-time 0.4
# expect: wall_time_limit
# why: a script whose time passes in a child program
trap '' TERM INT HUP
sleep 100
