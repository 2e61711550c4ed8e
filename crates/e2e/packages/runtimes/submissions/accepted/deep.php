<?php
function depth($n) {
    return $n == 0 ? 0 : depth($n - 1) + 1;
}
echo depth(intval(fgets(STDIN))), " é 9543\n";
