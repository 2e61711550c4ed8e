const { last } = require('./last.js');

module.exports = (leaves, k) => {
  const best = [0];
  leaves.forEach((bed, i) => best.push(Math.max(best[i], bed + best[Math.max(i - k, 0)])));
  return last(best);
};
