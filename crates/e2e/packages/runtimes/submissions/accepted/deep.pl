use strict;
use warnings;
no warnings 'recursion';
use Math::BigInt;

sub depth {
    my $n = shift;
    return $n == 0 ? 0 : depth($n - 1) + 1;
}

my $n = <STDIN>;
print depth($n), " é ", length(Math::BigInt->new(3)->bpow(20000)->bstr()), "\n";
