<?php
// Largest rectangles in 0/1 grids with a stack, sub-grid sums by prefix tables and largest squares.
$s = 15;
function rnd(int $k): int {
    global $s;
    $s = ($s * 1664525 + 1013904223) & 0xFFFFFFFF;
    return ($s >> 9) % $k;
}

$hash = 0;
for ($round = 0; $round < 6; $round++) {
    $n = 355 + 10 * $round;
    $grid = [];
    for ($i = 0; $i < $n; $i++) {
        $row = [];
        for ($j = 0; $j < $n; $j++) $row[] = rnd(100) < 78 + $round ? 1 : 0;
        $grid[] = $row;
    }
    $height = array_fill(0, $n + 1, 0);
    $sum = [array_fill(0, $n + 1, 0)];
    $side = array_fill(0, $n + 1, 0);
    $best = 0;
    $square = 0;
    foreach ($grid as $i => $row) {
        $line = [0];
        $diagonal = 0;
        for ($j = 0; $j < $n; $j++) {
            $height[$j] = $row[$j] ? $height[$j] + 1 : 0;
            $line[] = $line[$j] + $sum[$i][$j + 1] - $sum[$i][$j] + $row[$j];
            $old = $side[$j + 1];
            $side[$j + 1] = $row[$j] ? min($old, $side[$j], $diagonal) + 1 : 0;
            $diagonal = $old;
            if ($side[$j + 1] > $square) $square = $side[$j + 1];
        }
        $sum[] = $line;
        $stack = [];
        for ($j = 0; $j <= $n; $j++) {
            $from = $j;
            while ($stack && end($stack)[1] >= $height[$j]) {
                [$from, $h] = array_pop($stack);
                $best = max($best, $h * ($j - $from));
            }
            $stack[] = [$from, $height[$j]];
        }
    }
    $hash = ($hash * 31 + $best * 7 + $square) % 1000000007;
    for ($q = 0; $q < 8000; $q++) {
        $a = rnd($n); $b = rnd($n); $c = $a + 1 + rnd($n - $a); $d = $b + 1 + rnd($n - $b);
        $hash = ($hash * 31 + $sum[$c][$d] - $sum[$a][$d] - $sum[$c][$b] + $sum[$a][$b]) % 1000000007;
    }
}
echo $hash, "\n";
