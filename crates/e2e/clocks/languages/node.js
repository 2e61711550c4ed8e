let s = 1, a = [], seen = new Map();
for (let i = 0; i < 60000; i++) {
    s = (Math.imul(s, 1103515245) + 12345) >>> 0;
    a.push(s >>> 8);
    seen.set("k" + (s % 1000), (seen.get("k" + (s % 1000)) || 0) + 1);
}
a.sort((x, y) => x - y);
console.log(a[a.length >> 1], seen.get("k7"));
