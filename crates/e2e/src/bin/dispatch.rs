//! `make fleet-dispatch`: what work over the brokers of a fleet costs beside the Unix socket. A job's way from being taken in to a worker that is idle,
//! and how long a worker waits for its next job where the queue is full. `dispatch BLOCKS JOBS`: so many blocks of each, so many jobs in a block.

#![allow(clippy::print_stdout)]

use e2e::dispatch::{Both, Way, machine};
use stats::quantile;
use std::error::Error;
use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn Error>>;

const BLOCKS: usize = 8;
const JOBS: usize = 50;

fn main() -> ExitCode {
    let number = |n, usual| std::env::args().nth(n).map_or(Ok(usual), |word| word.parse());
    let done = match (number(1, BLOCKS), number(2, JOBS)) {
        (Ok(blocks), Ok(jobs)) => measure(blocks, jobs),
        (Err(error), _) | (_, Err(error)) => Err(format!("how many blocks and jobs: {error}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("dispatch: {error}");
            ExitCode::from(3)
        }
    }
}

fn measure(blocks: usize, jobs: usize) -> Outcome<()> {
    let both = Both::start()?;
    let (mut alone, mut full) = ([vec![], vec![]], [vec![], vec![]]);
    for _ in 0..blocks {
        for (n, way) in Way::BOTH.into_iter().enumerate() {
            alone[n].extend(both.alone(way, jobs)?);
            full[n].push(both.full(way, jobs)?);
        }
    }
    println!("{}\n\n| figure | socket | brokers | adds | bar |\n|---|---|---|---|---|", machine());
    for (share, bar) in [(0.5, "≤ 5 ms"), (0.9, ""), (0.99, "≤ 20 ms")] {
        let [socket, brokers] = alone.each_ref().map(|all| 1e3 * quantile(all, share).unwrap_or_default());
        println!(
            "| taken in to begun, {} % of {} jobs within | {socket:.1} ms | {brokers:.1} ms | {:.1} ms | {bar} |",
            100.0 * share,
            alone[0].len(),
            brokers - socket
        );
    }
    let idle = |n: usize| 100.0 * full[n].iter().map(|full| full.idle).sum::<f64>() / blocks.max(1) as f64;
    let task = |n: usize| full[n].iter().map(|full| full.task).sum::<f64>() / blocks.max(1) as f64;
    println!("| a task takes | {:.0} ms | {:.0} ms | | |", 1e3 * task(0), 1e3 * task(1));
    println!(
        "| idle with a full queue | {:.2} % | {:.2} % | {:.2} % | ≤ 2 % |",
        idle(0),
        idle(1),
        idle(1) - idle(0)
    );
    Ok(())
}
