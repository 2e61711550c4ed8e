use strict;
use warnings;

my ($n, $k) = split ' ', <STDIN>;
die "the post office is closed\n" if $n > 3;
print $n == 3 ? "yes\n2\n3\n1\n" : "no\n";
