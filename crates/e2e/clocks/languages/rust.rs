use std::collections::HashMap;
fn main() {
    let (mut s, mut a, mut seen) = (1u32, Vec::new(), HashMap::new());
    for _ in 0..60000 {
        s = s.wrapping_mul(1103515245).wrapping_add(12345);
        a.push(s >> 8);
        *seen.entry((s >> 8) % 1000).or_insert(0) += 1;
    }
    a.sort();
    println!("{} {}", a[a.len() / 2], seen[&7]);
}
