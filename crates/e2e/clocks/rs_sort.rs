// sort_unstable on pairs, then binary searches.
fn main() {
    let mut s: u64 = 777;
    let mut next = || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (s >> 33) as u32
    };
    let mut v: Vec<(u32, u32)> = (0..5_000_000).map(|i| (next() % 5_000_000, i)).collect();
    v.sort_unstable();
    let mut found = 0u64;
    let mut h = 0u64;
    for _ in 0..2_000_000 {
        let key = next() % 5_000_000;
        let at = v.partition_point(|p| p.0 < key);
        if at < v.len() && v[at].0 == key {
            found += 1;
            h = h.wrapping_mul(31).wrapping_add(v[at].1 as u64);
        }
    }
    println!("{} {}", found, h);
}
