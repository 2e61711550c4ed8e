const depth = (n) => (n === 0 ? 0 : depth(n - 1) + 1);
const n = parseInt(require("fs").readFileSync(0, "utf8"));
console.log(depth(n), "é", (3n ** 20000n).toString().length);
