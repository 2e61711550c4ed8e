# Topological order of random dependency graphs, longest chains, counts of paths and critical tasks.
use strict;
use warnings;

my ($s, $hash) = (4, 0);
sub rnd {
    $s = ($s * 1103515245 + 12345) & 0x7FFFFFFF;
    return ($s >> 8) % $_[0];
}

for my $round (1 .. 4) {
    my $n = 21000;
    my (@next, @need, @cost);
    my @name = map { ($_ * 7919) % $n } 0 .. $n - 1;
    for my $i (0 .. $n - 1) {
        $cost[$i] = 1 + rnd(50);
        $need[$i] //= 0;
        for (1 .. 1 + rnd(4)) {
            my $j = $i + 1 + rnd(400);
            next if $j >= $n;
            push @{ $next[$name[$i]] }, $name[$j];
            $need[$name[$j]]++;
        }
    }
    my @queue = grep { !$need[$_] } 0 .. $n - 1;
    my (@early, @ways, @order);
    while (@queue) {
        my $v = shift @queue;
        push @order, $v;
        my $done = ($early[$v] // 0) + $cost[$v];
        my $w = $ways[$v] || 1;
        for my $u (@{ $next[$v] || [] }) {
            $early[$u] = $done if $done > ($early[$u] // 0);
            $ways[$u] = (($ways[$u] // 0) + $w) % 1000003;
            push @queue, $u if --$need[$u] == 0;
        }
    }
    my (@late, $end) = ();
    $end = 0;
    for my $v (@order) {
        my $e = ($early[$v] // 0) + $cost[$v];
        $end = $e if $e > $end;
    }
    my $critical = 0;
    for my $v (reverse @order) {
        my $l = $end;
        for my $u (@{ $next[$v] || [] }) { $l = $late[$u] if $late[$u] < $l }
        $late[$v] = $l - $cost[$v];
        $critical++ if $late[$v] == ($early[$v] // 0);
    }
    $hash = ($hash * 31 + $end * 7 + $critical + $ways[$order[-1]] + @order) % 1000000007;
}
print "$hash\n";
