// A hand-written JSON parser and printer on generated documents, checked against the built-in one.
'use strict';
let s = 5;
const rnd = (k) => { s = (Math.imul(s, 1103515245) + 12345) >>> 0; return (s >>> 10) % k; };

function make(depth) {
  const kind = depth === 0 ? rnd(4) : 2 + rnd(5);
  if (kind < 2) return kind ? rnd(2) === 1 : rnd(1000000) - 500000;
  if (kind === 2) return 'key "' + rnd(5000).toString(36) + '"\n' + 'xyz'[rnd(3)].repeat(rnd(9));
  if (kind === 3) return null;
  if (kind === 4) return Array.from({ length: 2 + rnd(6) }, () => make(depth - 1));
  const o = {};
  for (let i = 3 + rnd(5); i > 0; i--) o['f' + rnd(400)] = make(depth - 1);
  return o;
}

function parse(text) {
  let at = 0;
  const space = () => { while (text[at] === ' ' || text[at] === '\n') at++; };
  function string() {
    let out = '', from = ++at;
    while (text[at] !== '"') {
      if (text[at++] !== '\\') continue;
      out += text.slice(from, at - 1) + (text[at] === 'n' ? '\n' : text[at]);
      from = ++at;
    }
    return out + text.slice(from, at++);
  }
  function value() {
    space();
    const c = text[at];
    if (c === '"') return string();
    if (c === '{' || c === '[') {
      const out = c === '{' ? {} : [];
      for (at++, space(); text[at] !== '}' && text[at] !== ']'; space()) {
        const key = c === '{' ? string() : out.length;
        if (c === '{') at++;
        out[key] = value();
        space();
        if (text[at] === ',') at++;
      }
      at++;
      return out;
    }
    for (const [word, v] of [['true', true], ['false', false], ['null', null]])
      if (text.startsWith(word, at)) { at += word.length; return v; }
    const from = at;
    while (at < text.length && '+-.eE0123456789'.includes(text[at])) at++;
    return Number(text.slice(from, at));
  }
  return value();
}

let h = 0, same = 0;
for (let round = 0; round < 90; round++) {
  const text = JSON.stringify(make(6), null, round % 3), again = JSON.stringify(parse(text), null, round % 3);
  if (again === text) same++;
  for (let i = 0; i < again.length; i++) h = (Math.imul(h, 31) + again.charCodeAt(i)) | 0;
}
console.log(same, h);
