program s;
uses util;
var a,b:longint;
begin readln(a,b); writeln(add(a,b)); end.
