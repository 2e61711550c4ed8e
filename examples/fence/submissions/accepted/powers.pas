program fence;
const
  p = 1000000007;
type
  matrix = array[0..1, 0..1] of int64;

function times(const x, y: matrix): matrix;
var
  i, j: integer;
begin
  for i := 0 to 1 do
    for j := 0 to 1 do
      times[i, j] := (x[i, 0] * y[0, j] + x[i, 1] * y[1, j]) mod p;
end;

var
  n: int64;
  power, step: matrix;
begin
  readln(n);
  power[0, 0] := 1; power[0, 1] := 0; power[1, 0] := 0; power[1, 1] := 1;
  step[0, 0] := 2; step[0, 1] := 1; step[1, 0] := 2; step[1, 1] := 0;
  while n > 0 do
  begin
    if odd(n) then power := times(power, step);
    step := times(step, step);
    n := n div 2;
  end;
  writeln((power[0, 0] + power[0, 1]) mod p);
end.
