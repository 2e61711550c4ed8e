// Caches simulated with Map: least recently used, first in first out and least frequently used.
'use strict';
class Lru {
  constructor(size) { this.size = size; this.map = new Map(); }
  get(key) {
    const value = this.map.get(key);
    if (value === undefined) return -1;
    this.map.delete(key);
    this.map.set(key, value);
    return value;
  }
  put(key, value) {
    if (this.map.size >= this.size) this.map.delete(this.map.keys().next().value);
    this.map.set(key, value);
  }
}

class Fifo extends Lru {
  get(key) { return this.map.has(key) ? this.map.get(key) : -1; }
}

class Lfu {
  constructor(size) { this.size = size; this.map = new Map(); this.groups = new Map(); this.least = 1; }
  touch(key, item) {
    if (item.uses) this.groups.get(item.uses).delete(key);
    item.uses++;
    if (!this.groups.has(item.uses)) this.groups.set(item.uses, new Set());
    this.groups.get(item.uses).add(key);
  }
  get(key) {
    const item = this.map.get(key);
    if (item) this.touch(key, item);
    return item ? item.value : -1;
  }
  put(key, value) {
    if (this.map.size >= this.size) {
      while (!this.groups.has(this.least) || this.groups.get(this.least).size === 0) this.least++;
      const group = this.groups.get(this.least), victim = group.values().next().value;
      group.delete(victim);
      this.map.delete(victim);
    }
    this.map.set(key, { value, uses: 0 });
    this.touch(key, this.map.get(key));
    this.least = 1;
  }
}

let s = 17, h = 0;
const hits = [];
for (const cache of [new Lru(3000), new Fifo(3000), new Lfu(3000)]) {
  let hit = 0;
  for (let i = 0; i < 120000; i++) {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    const r = s >>> 9, key = 'k' + (r % 4 ? r % 2000 + (i >> 8) : r % 30000);
    const value = cache.get(key);
    if (value >= 0) hit++; else cache.put(key, i);
    h = (Math.imul(h, 31) + value) | 0;
  }
  hits.push(hit);
}
console.log(hits.join(' '), h);
