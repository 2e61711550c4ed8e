program never_equal;
{ Waits for both ends of the interval to be the same number. }
uses math;
var
  count, i: longint;
  d, len, low, high, u: double;
begin
  readln(count);
  for i := 1 to count do
  begin
    readln(d, len);
    low := 1e-9;
    high := 10;
    while low <> high do
    begin
      u := low + (high - low) / 3;
      if sinh(u) / u < len / d then low := u else high := u + 1e-12;
    end;
    writeln(d / low * sqr(sinh(low / 2)):0:9);
  end;
end.
