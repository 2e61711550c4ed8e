<?php
$s = 1; $a = []; $seen = [];
for ($i = 0; $i < 60000; $i++) {
    $s = ($s * 1103515245 + 12345) & 0xFFFFFFFF;
    $a[] = $s >> 8;
    $k = "k" . ($s % 1000);
    $seen[$k] = ($seen[$k] ?? 0) + 1;
}
sort($a);
echo $a[30000], " ", $seen["k7"], "\n";
