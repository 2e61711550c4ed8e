#!/bin/bash
depth() {
    if (($1 == 0)); then reached=0; else depth $(($1 - 1)); ((reached += 1)); fi
}
read -r n
# Bash takes some 10 KiB for each call, and a time that grows with the square of the depth.
depth $((n / 100))
echo "$((reached * 100)) é 9543"
