my ($s, @a, %seen) = (1);
for (1 .. 60000) {
    $s = ($s * 1103515245 + 12345) & 0xFFFFFFFF;
    push @a, $s >> 8;
    $seen{$s % 1000}++;
}
@a = sort { $a <=> $b } @a;
print "$a[30000] $seen{7} ", join(",", (keys %seen)[0 .. 3]) eq "" ? 0 : 1, "\n";
