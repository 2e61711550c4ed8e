const fs = require('fs');
const harvest = require('./harvest.js');

const k = Number(process.argv[2]);
const numbers = (text) => text.split(/\s+/).filter(Boolean).map(Number);
const [, ...leaves] = numbers(fs.readFileSync('beds.txt', 'utf8'));
const [stretches, ...ends] = numbers(fs.readFileSync(0, 'utf8'));

for (let i = 0; i < stretches; i++) {
  const stretch = leaves.slice(ends[2 * i] - 1, ends[2 * i + 1]);
  console.log(Math.min(harvest(stretch, k), {{basket}}));
}
