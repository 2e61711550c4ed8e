// Strongly connected components of random directed graphs: Tarjan's algorithm with an explicit stack.
fn main() {
    let (n, m) = (400_000usize, 680_000usize);
    let (mut s, mut hash) = (0x9E3779B97F4A7C15u64, 0u64);
    for round in 0..7u64 {
        let edges: Vec<(u32, u32)> = (0..m)
            .map(|_| {
                s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((s >> 40) as u32 % n as u32, (s >> 16) as u32 % n as u32)
            })
            .collect();
        let mut start = vec![0u32; n + 2];
        for e in &edges {
            start[e.0 as usize + 2] += 1;
        }
        for i in 1..n + 2 {
            start[i] += start[i - 1];
        }
        let mut to = vec![0u32; m];
        for e in &edges {
            let p = &mut start[e.0 as usize + 1];
            to[*p as usize] = e.1;
            *p += 1;
        }
        let (mut pos, mut num, mut low, mut done) = (start.clone(), vec![0u32; n], vec![0u32; n], vec![false; n]);
        let (mut stack, mut calls): (Vec<usize>, Vec<usize>) = (vec![], vec![]);
        let (mut time, mut parts) = (0u32, 0u64);
        for root in 0..n {
            let mut enter = if num[root] == 0 { Some(root) } else { None };
            loop {
                if let Some(v) = enter.take() {
                    time += 1;
                    (num[v], low[v]) = (time, time);
                    stack.push(v);
                    calls.push(v);
                }
                let Some(&v) = calls.last() else { break };
                if pos[v] < start[v + 1] {
                    let w = to[pos[v] as usize] as usize;
                    pos[v] += 1;
                    if num[w] == 0 {
                        enter = Some(w);
                    } else if !done[w] {
                        low[v] = low[v].min(num[w]);
                    }
                    continue;
                }
                calls.pop();
                if let Some(&u) = calls.last() {
                    low[u] = low[u].min(low[v]);
                }
                if low[v] == num[v] {
                    let at = stack.iter().rposition(|&w| w == v).unwrap();
                    parts = (parts * 31 + (stack.len() - at) as u64) % 1_000_000_007;
                    stack.drain(at..).for_each(|w| done[w] = true);
                }
            }
        }
        hash = hash.wrapping_mul(1_000_003).wrapping_add(parts + round);
    }
    println!("{}", hash);
}
