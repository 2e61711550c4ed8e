// Event simulation of a bank with a binary heap: customers queue at counters and return later.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Served(u32),
    Arrives(u32),
}

fn main() {
    let (customers, counters) = (20_000u32, 120usize);
    let mut s = 1u64;
    let mut rnd = |k: u64| {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (s >> 33) % k
    };
    let mut heap: BinaryHeap<Reverse<(u64, Event)>> = BinaryHeap::new();
    for c in 0..customers {
        heap.push(Reverse((rnd(50_000), Event::Arrives(c))));
    }
    let mut line: Vec<VecDeque<(u32, u64)>> = vec![VecDeque::new(); counters];
    let mut waited = vec![0u64; customers as usize];
    let (mut events, mut longest, mut hash) = (0u64, 0usize, 0u64);
    while let Some(Reverse((now, event))) = heap.pop() {
        events += 1;
        if events > 2_400_000 {
            break;
        }
        match event {
            Event::Arrives(c) => {
                let (a, b) = (rnd(counters as u64) as usize, rnd(counters as u64) as usize);
                let k = if line[a].len() <= line[b].len() { a } else { b };
                line[k].push_back((c, now));
                longest = longest.max(line[k].len());
                if line[k].len() == 1 {
                    heap.push(Reverse((now + 40 + rnd(400), Event::Served(k as u32))));
                }
            }
            Event::Served(k) => {
                let (c, since) = line[k as usize].pop_front().unwrap();
                waited[c as usize] += now - since;
                hash = hash.wrapping_mul(31).wrapping_add(c as u64 ^ now);
                heap.push(Reverse((now + 20_000 + rnd(60_000), Event::Arrives(c))));
                if !line[k as usize].is_empty() {
                    heap.push(Reverse((now + 40 + rnd(400), Event::Served(k))));
                }
            }
        }
    }
    let total: u64 = waited.iter().sum();
    println!("{} {} {} {}", total, longest, heap.len(), hash);
}
