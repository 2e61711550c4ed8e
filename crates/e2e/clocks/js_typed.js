// Loops over typed arrays: prefix sums, counting sort and a small stencil.
'use strict';
const n = 1 << 20;
const a = new Int32Array(n), b = new Int32Array(n), f = new Float64Array(n);
let s = 12;
for (let i = 0; i < n; i++) {
  s = (Math.imul(s, 1664525) + 1013904223) | 0;
  a[i] = s >>> 12;
}
let h = 0;
for (let round = 0; round < 22; round++) {
  const count = new Int32Array(65537);
  for (let i = 0; i < n; i++) count[(a[i] & 65535) + 1]++;
  for (let i = 0; i < 65536; i++) count[i + 1] += count[i];
  for (let i = 0; i < n; i++) b[count[a[i] & 65535]++] = a[i];
  for (let i = 1; i + 1 < n; i++) f[i] = (f[i - 1] + b[i] + f[i + 1]) / 3;
  for (let i = 0; i < n; i++) {
    a[i] = (b[i] * 5 + (f[i] | 0)) & 0xfffff;
    h = (Math.imul(h, 31) + a[i]) | 0;
  }
}
console.log(h, Math.floor(f[n >> 1]));
