# Always leaves one bed between two, whatever the argument says.
use strict;
use warnings;
use List::Util qw(max min);

open my $beds, '<', 'beds.txt' or die $!;
my (undef, @leaves) = split ' ', do { local $/; <$beds> };
open my $size, '<', 'basket.txt' or die $!;
chomp(my $basket = <$size>);
<STDIN>;
while (<STDIN>) {
    my ($first, $last) = split;
    my @best = (0);
    push @best, max($best[-1], $leaves[$_] + ($_ > $first - 1 ? $best[-2] : 0)) for $first - 1 .. $last - 1;
    print min($best[-1], $basket), "\n";
}
