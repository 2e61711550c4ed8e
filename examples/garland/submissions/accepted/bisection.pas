program garland;
uses math;
var
  count, i, step: longint;
  d, len, low, high, u: double;
begin
  readln(count);
  for i := 1 to count do
  begin
    readln(d, len);
    low := 1e-9;
    high := 10;
    for step := 1 to 100 do
    begin
      u := (low + high) / 2;
      if sinh(u) / u < len / d then low := u else high := u;
    end;
    writeln(d / (2 * low) * 2 * sqr(sinh(low / 2)):0:9);
  end;
end.
