// Word count in a HashMap<String, u32> with a fixed FNV-style hasher.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf29ce484222325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ *b as u64).wrapping_mul(0x100000001b3);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

fn main() {
    let parts = ["ka", "lo", "mi", "nu", "re", "sta", "ti", "vo"];
    let mut text = String::new();
    let mut s: u32 = 5;
    for _ in 0..7_000_000 {
        s = s.wrapping_mul(1664525).wrapping_add(1013904223);
        for k in 0..(2 + (s >> 30)) {
            text.push_str(parts[(s >> (8 + 3 * k)) as usize % 8]);
        }
        text.push(' ');
    }
    let mut count: HashMap<String, u32, BuildHasherDefault<Fnv>> = HashMap::default();
    for w in text.split_whitespace() {
        *count.entry(w.to_string()).or_insert(0) += 1;
    }
    let mut list: Vec<(&String, &u32)> = count.iter().collect();
    list.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    println!("{} {} {} {}", text.len(), list.len(), list[0].0, list[0].1);
}
