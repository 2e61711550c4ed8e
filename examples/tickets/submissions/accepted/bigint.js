const [text, divisor] = require('fs').readFileSync(0, 'utf8').trim().split(/\s+/);
const k = Number(divisor);
const digits = [...text].map(Number);

const table = [Array.from({ length: k }, (_, rest) => (rest === 0 ? 1n : 0n))];
for (let length = 1; length <= digits.length; length++) {
  const row = Array(k).fill(0n);
  for (let rest = 0; rest < k; rest++) {
    for (let d = 0; d < 10; d++) row[(rest + d) % k] += table[length - 1][rest];
  }
  table.push(row);
}
const ways = (length, total) => table[length][(k - (total % k)) % k];

let count = -1n;
let greatest = 0n;
let before = 0;
digits.forEach((top, i) => {
  const length = digits.length - i - 1;
  for (let d = 0; d < top; d++) {
    const found = ways(length, before + d);
    count += found;
    if (found === 0n) continue;
    let number = text.slice(0, i) + d;
    let total = before + d;
    for (let left = length - 1; left >= 0; left--) {
      let e = 9;
      while (ways(left, total + e) === 0n) e--;
      number += e;
      total += e;
    }
    greatest = BigInt(number);
  }
  before += top;
});
if (before % k === 0) {
  count += 1n;
  greatest = BigInt(text);
}
console.log(`${count} ${greatest}`);
