program s;
uses sysutils, math;
var a,b:longint;
begin readln(a,b); writeln(max(a,b)+min(a,b)); end.
