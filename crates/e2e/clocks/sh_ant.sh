# Langton's ant on a torus, with shell arithmetic and an indexed array.
n=64
x=32 y=32 d=0 black=0 flips=0 h=7
dx=(0 1 0 -1)
dy=(-1 0 1 0)
declare -a cell
for ((i = 0; i < n * n; i++)); do
  cell[i]=0
done
for ((step = 1; step <= 25000; step++)); do
  at=$((y * n + x))
  if ((cell[at])); then
    cell[at]=0
    ((black--, d = (d + 3) % 4))
  else
    cell[at]=1
    ((black++, d = (d + 1) % 4))
  fi
  x=$(((x + dx[d] + n) % n))
  y=$(((y + dy[d] + n) % n))
  if ((step % 100 == 0)); then
    h=$(((h * 31 + black * 7 + at) % 1000003))
  fi
done
echo "$black $x $y $h"
