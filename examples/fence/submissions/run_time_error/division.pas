program division;
var
  n, wet: int64;
begin
  readln(n);
  wet := n - n;
  writeln(n div wet);
end.
