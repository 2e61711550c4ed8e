program p;
var a: array[0..59999] of longword; s: longword; i, gap, j: longint; x: longword;
begin
  s := 1;
  for i := 0 to 59999 do begin s := longword(qword(s) * 1103515245 + 12345); a[i] := s shr 8; end;
  gap := 30000;
  while gap > 0 do begin
    for i := gap to 59999 do begin
      x := a[i]; j := i;
      while (j >= gap) and (a[j - gap] > x) do begin a[j] := a[j - gap]; j := j - gap; end;
      a[j] := x;
    end;
    gap := gap div 2;
  end;
  writeln(a[30000]);
end.
