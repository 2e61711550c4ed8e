use FindBin; use lib $FindBin::Bin; use Util; my @v=split " ",<STDIN>; print Util::add(@v),"
";