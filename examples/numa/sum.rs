//! Adds up an array with several threads, in Rust. Who writes a page first decides on which memory node it lies.
//!
//!     rustc -O sum.rs && ./sum serial|parallel [THREADS] [MIB] [ROUNDS]
//!
//! `serial`: `vec![1.0; n]` writes every page, in the thread that makes it. `parallel`: `vec![0.0; n]` asks the system for pages that
//! are zero already and writes none of them; each thread then writes the part that it will read.

use std::thread;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |n: usize, usual: usize| arguments.get(n).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let how = arguments.get(1).map_or("serial", |how| how);
    let (threads, n, rounds) = (number(2, 4), (number(3, 256) << 20) / 8, number(4, 40));
    let part = n.div_ceil(threads);
    let mut numbers = if how == "serial" { vec![1.0f64; n] } else { vec![0.0; n] };
    let start = Instant::now();
    let sum: f64 = thread::scope(|scope| {
        let work = |own: &mut [f64]| {
            own.fill(1.0);
            (0..rounds).map(|_| std::hint::black_box(&*own).iter().sum::<f64>()).sum::<f64>()
        };
        let workers: Vec<_> = numbers.chunks_mut(part).map(|own| scope.spawn(move || work(own))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker")).sum()
    });
    println!("{threads} threads, {how}: {:.3} s, sum {sum}", start.elapsed().as_secs_f64());
}
