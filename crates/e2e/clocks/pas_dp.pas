{ Dynamic programming: edit distance and coin counting. }
program Dp;

const
  N = 5000;
  M = 1000000007;
  Top = 1000000;

var
  a, b: array[1..N] of byte;
  d: array[0..N, 0..N] of longint;
  ways: array[0..Top] of longint;
  i, j, best, c: longint;
  s: longword;

function Next(k: longint): longint;
begin
  s := s xor (s shl 13);
  s := s xor (s shr 17);
  s := s xor (s shl 5);
  Next := s mod longword(k);
end;

begin
  s := 31;
  for i := 1 to N do
  begin
    a[i] := Next(6);
    b[i] := Next(6);
  end;
  for i := 0 to N do d[i, 0] := i;
  for j := 0 to N do d[0, j] := j;
  for i := 1 to N do
    for j := 1 to N do
    begin
      best := d[i - 1, j - 1];
      if a[i] <> b[j] then inc(best);
      if d[i - 1, j] + 1 < best then best := d[i - 1, j] + 1;
      if d[i, j - 1] + 1 < best then best := d[i, j - 1] + 1;
      d[i, j] := best;
    end;
  ways[0] := 1;
  for i := 1 to 150 do
  begin
    c := i * 3 + Next(50);
    for j := c to Top do
      ways[j] := (ways[j] + ways[j - c]) mod M;
  end;
  writeln(d[N, N], ' ', ways[Top]);
end.
