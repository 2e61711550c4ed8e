// BTreeMap: counting, range queries and removals.
use std::collections::BTreeMap;

fn main() {
    let mut s: u64 = 12345;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s % 1_500_000) as u32
    };
    let mut map: BTreeMap<u32, u64> = BTreeMap::new();
    for i in 0..1_400_000u64 {
        *map.entry(next()).or_insert(0) += i;
    }
    let mut h: u64 = 0;
    for _ in 0..700_000 {
        let lo = next();
        for (k, v) in map.range(lo..).take(3) {
            h = h.wrapping_mul(31).wrapping_add(*k as u64 ^ *v);
        }
    }
    for _ in 0..700_000 {
        if map.remove(&next()).is_some() {
            h = h.wrapping_add(1);
        }
    }
    println!("{} {}", map.len(), h);
}
