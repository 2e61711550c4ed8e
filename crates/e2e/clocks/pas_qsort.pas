{ Recursive quick sort. }
program QSort;

const
  N = 4500000;

var
  a: array[0..N - 1] of longint;
  i: longint;
  s: longword;
  h: qword;

procedure Sort(l, r: longint);
var
  i, j, p, t: longint;
begin
  i := l;
  j := r;
  p := a[(l + r) div 2];
  repeat
    while a[i] < p do inc(i);
    while a[j] > p do dec(j);
    if i <= j then
    begin
      t := a[i];
      a[i] := a[j];
      a[j] := t;
      inc(i);
      dec(j);
    end;
  until i > j;
  if l < j then Sort(l, j);
  if i < r then Sort(i, r);
end;

begin
  s := 2463534242;
  for i := 0 to N - 1 do
  begin
    s := s xor (s shl 13);
    s := s xor (s shr 17);
    s := s xor (s shl 5);
    a[i] := s mod 1000000000;
  end;
  Sort(0, N - 1);
  h := 0;
  for i := 0 to N - 1 do
    h := h * 31 + qword(a[i]);
  writeln(h);
end.
