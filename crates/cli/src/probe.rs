//! `tauto probe`: the fixed programs of the noise floor. Runs in the sandbox.

use crate::Done;
use crate::terminal::{Failure, print};
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    /// Which
    kind: Kind,
    /// Of the sieve
    #[arg(default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(1000..=1 << 33))]
    numbers: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Computes
    Compute,
    /// Waits for memory
    Memory,
    /// Reads from memory, each time waiting for the read before; prints nanoseconds of one
    Walk,
    /// Sieves so many numbers, of four bytes each
    Sieve,
    /// Maps and touches memory, and makes small objects
    Allocation,
    /// Enters the kernel again and again
    Syscalls,
    /// Adds to three static counters, so that where its stack lies may matter
    Toy,
}

/// Bytes of the walk: beyond caches, and little enough for small nodes.
const WALK: usize = 128 << 20;

fn walk() -> Result<Done, Failure> {
    // Their setting would change what is measured; without the right to it, it does.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let latency = power_index::latency(WALK).ok_or_else(|| Failure::system("no memory for the walk"))?;
    print(&format!("{latency}\n"));
    Ok(Done::Good)
}

/// Whether this process is the toy: `tauto probe toy`.
pub(crate) fn is_toy() -> bool {
    std::env::args_os().skip(1).eq(["probe", "toy"])
}

/// The toy alone.
pub(crate) fn toy() -> ExitCode {
    if loads::probe::toy() > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(crate) fn main(args: &ProbeArgs) -> Result<Done, Failure> {
    let result = match args.kind {
        Kind::Walk => return walk(),
        Kind::Compute => loads::probe::compute(),
        Kind::Memory => loads::probe::memory(),
        Kind::Sieve => loads::probe::sieve(usize::try_from(args.numbers).map_err(Failure::usage)?),
        Kind::Allocation => loads::probe::allocation(),
        Kind::Syscalls => loads::probe::system_calls(),
        Kind::Toy => loads::probe::toy(),
    };
    print(&format!("{result}\n"));
    Ok(Done::Good)
}
