{ Mazes carved by depth-first search with a stack, left by keeping a hand on the wall. }
program Maze;

const
  N = 601;
  DX: array[0..3] of longint = (1, 0, -1, 0);
  DY: array[0..3] of longint = (0, 1, 0, -1);

var
  cell: array[-1..N, -1..N] of byte;
  stack: array[0..N * N] of longint;
  s: longword;
  hash: int64;
  round: longint;

procedure Carve;
var top, x, y, d, tries: longint;
begin
  fillchar(cell, sizeof(cell), 2);
  for x := 0 to N - 1 do fillchar(cell[x, 0], N, 0);
  cell[1, 1] := 1;
  stack[0] := N + 1;
  top := 0;
  while top >= 0 do
  begin
    x := stack[top] div N;
    y := stack[top] mod N;
    s := s * 1664525 + 1013904223;
    d := s shr 30;
    tries := 0;
    while (tries < 4) and (cell[x + 2 * DX[d], y + 2 * DY[d]] <> 0) do begin d := (d + 1) mod 4; inc(tries); end;
    dec(top);
    if tries = 4 then continue;
    cell[x + DX[d], y + DY[d]] := 1;
    cell[x + 2 * DX[d], y + 2 * DY[d]] := 1;
    inc(top, 2);
    stack[top] := (x + 2 * DX[d]) * N + y + 2 * DY[d];
  end;
end;

procedure Walk;
var x, y, d, steps, turns: longint;
begin
  x := 1; y := 1; d := 0; steps := 0; turns := 0;
  while (x <> N - 2) or (y <> N - 2) do
  begin
    d := (d + 3) mod 4;
    while cell[x + DX[d], y + DY[d]] <> 1 do begin d := (d + 1) mod 4; inc(turns); end;
    x := x + DX[d];
    y := y + DY[d];
    inc(steps);
  end;
  hash := (hash * 1000003 + int64(steps) * 7 + turns) mod 1000000007;
end;

begin
  s := 2463534242;
  for round := 1 to 75 do begin Carve; Walk; end;
  writeln(hash);
end.
