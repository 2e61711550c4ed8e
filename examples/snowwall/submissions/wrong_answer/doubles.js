// Plain numbers of JavaScript are exact up to 2^53 only.
const [, ...days] = require('fs').readFileSync(0, 'utf8').split(/\s+/).filter(Boolean).map(Number);

for (const n of days) {
  let rows = Math.floor((Math.sqrt(8 * n + 1) - 1) / 2);
  console.log(`${rows} ${n - (rows * (rows + 1)) / 2}`);
}
