use strict;
use warnings;

my ($n, $k) = split ' ', <STDIN>;
if (2 * $k > $n - 1) {
    print "no\n";
} else {
    print "yes\n";
    for my $i (0 .. $n - 1) {
        print join(' ', map { ($i + $_) % $n + 1 } 1 .. $k), "\n";
    }
}
