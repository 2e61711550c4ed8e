# Hash of words: counting, sorting by frequency, joining.
use strict;
use warnings;

my @syl = qw(an be co du el fo gi ha);
my ($s, @text) = (77);
for (1 .. 500000) {
    $s = ($s * 1664525 + 1013904223) & 0xFFFFFFFF;
    my $w = '';
    $w .= $syl[($s >> (10 + 3 * $_)) & 7] for 0 .. 1 + ($s >> 30);
    push @text, $w;
}
my %count;
$count{$_}++ for split / /, join(' ', @text);
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
my $h = 0;
for my $w (@top) {
    $h = ($h * 31 + ord($w) + $count{$w} * length $w) % 1000003;
}
my $vowels = join('', @top) =~ tr/aeiou//;
print scalar(@top), " $top[0] $count{$top[0]} $vowels $h\n";
