<?php
$words = preg_split('/\s+/', trim(fgets(STDIN)));
if ($words[0] === 'put') {
    $pebbles = array_filter(range(1, 60), fn($pebble) => (int) $words[1] >> ($pebble - 1) & 1);
    echo implode(' ', [count($pebbles), ...array_values($pebbles)]), "\n";
} else {
    echo array_sum(array_map(fn($pebble) => 1 << ((int) $pebble - 1), array_slice($words, 2))), "\n";
}
