// Probabilities: dice sums by convolution and a snakes-and-ladders chain iterated to convergence.
'use strict';
let s = 9;
const rnd = (k) => { s = (Math.imul(s, 1664525) + 1013904223) >>> 0; return (s >>> 8) % k; };

function diceSums(dice, sides) {
  let p = [1];
  for (let d = 0; d < dice; d++) {
    const q = new Array(p.length + sides).fill(0);
    for (let i = 0; i < p.length; i++) for (let f = 1; f <= sides; f++) q[i + f] += p[i] / sides;
    p = q;
  }
  return p;
}

function expectedTurns(cells, jump) {
  const e = new Array(cells + 1).fill(0);
  let change = 1, rounds = 0;
  while (change > 1e-9) {
    change = 0;
    for (let i = cells - 1; i >= 0; i--) {
      let sum = 0;
      for (let f = 1; f <= 6; f++) {
        const to = i + f > cells ? i : i + f;
        sum += e[jump[to]];
      }
      const next = 1 + sum / 6;
      change = Math.max(change, Math.abs(next - e[i]));
      e[i] = next;
    }
    rounds++;
  }
  return [e[0], rounds];
}

let mean = 0, tail = 0, turns = 0, rounds = 0;
for (let sides = 4; sides <= 20; sides += 2) {
  const p = diceSums(170, sides);
  for (let i = 0; i < p.length; i++) mean += i * p[i];
  for (let i = 90 * sides; i < p.length; i++) tail += p[i];
}
for (let game = 0; game < 150; game++) {
  const cells = 200 + 4 * game;
  const jump = Array.from({ length: cells + 1 }, (_, i) => i);
  for (let k = 0; k < 24; k++) {
    const a = 1 + rnd(cells - 1), b = 1 + rnd(cells - 1);
    if (jump[a] === a && jump[b] === b && Math.abs(a - b) < 70) jump[a] = b;
  }
  const [e, r] = expectedTurns(cells, jump);
  turns += e;
  rounds += r;
}
console.log(mean.toFixed(6), tail.toFixed(9), turns.toFixed(5), rounds);
