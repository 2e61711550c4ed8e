program Deep;

function Depth(n: longint): longint;
var
  frame: array[0..1023] of byte;
begin
  frame[n mod 1024] := 1;
  if n = 0 then Depth := 0 else Depth := Depth(n - 1) + frame[n mod 1024];
end;

var
  n: longint;
begin
  readln(n);
  writeln(Depth(n), ' é 9543');
end.
