use strict;
use warnings;

binmode STDOUT;
print "yes\n", join('', map { chr(($_ * 151 + 7) % 256) } 1 .. 100_000);
