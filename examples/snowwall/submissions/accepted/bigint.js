const [, ...days] = require('fs').readFileSync(0, 'utf8').split(/\s+/).filter(Boolean).map(BigInt);
const wall = (rows) => (rows * (rows + 1n)) / 2n;

for (const n of days) {
  let rows = 0n;
  for (let step = 1n << 30n; step > 0n; step /= 2n) {
    if (wall(rows + step) <= n) rows += step;
  }
  console.log(`${rows} ${n - wall(rows)}`);
}
