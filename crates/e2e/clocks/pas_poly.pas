{ Polyominoes counted by Redelmeier's recursion, with the sum of their squared widths. }
program Poly;

const
  Max = 14;

var
  seen: array[-Max..Max, -1..Max] of boolean;
  px, py: array[0..4 * Max * Max] of longint;
  cx: array[1..Max] of longint;
  count, wide: array[1..Max] of int64;
  i: longint;

procedure Grow(first, last, size: longint);
var
  at, x, y, k, nx, ny, added, lo, hi: longint;
begin
  for at := first to last - 1 do
  begin
    x := px[at];
    y := py[at];
    cx[size] := x;
    inc(count[size]);
    lo := x;
    hi := x;
    for k := 1 to size - 1 do
    begin
      if cx[k] < lo then lo := cx[k];
      if cx[k] > hi then hi := cx[k];
    end;
    wide[size] := wide[size] + (hi - lo + 1) * (hi - lo + 1);
    if size < Max then
    begin
      added := last;
      for k := 0 to 3 do
      begin
        nx := x + (1 - k) mod 2;
        ny := y + (2 - k) mod 2;
        if (ny < 0) or ((ny = 0) and (nx < 0)) or seen[nx, ny] then continue;
        seen[nx, ny] := true;
        px[added] := nx;
        py[added] := ny;
        inc(added);
      end;
      Grow(at + 1, added, size + 1);
      for k := last to added - 1 do seen[px[k], py[k]] := false;
    end;
  end;
end;

begin
  seen[0, 0] := true;
  px[0] := 0;
  py[0] := 0;
  Grow(0, 1, 1);
  for i := Max - 3 to Max do write(count[i], ' ', wide[i], ' ');
  writeln;
end.
