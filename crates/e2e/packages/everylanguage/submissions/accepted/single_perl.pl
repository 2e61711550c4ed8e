use strict; use List::Util qw(sum); my @v=split " ",<STDIN>; print sum(@v),"\n";
