//! `tauto probe`: the fixed programs of the noise floor. Runs in the sandbox.

use crate::Done;
use crate::terminal::{Failure, print};
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    /// Which
    kind: Kind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Computes
    Compute,
    /// Waits for memory
    Memory,
    /// Adds to three static counters, so that where its stack lies may matter
    Toy,
}

/// Whether this process is the toy: `tauto probe toy`.
pub(crate) fn is_toy() -> bool {
    std::env::args_os().skip(1).eq(["probe", "toy"])
}

/// The toy alone.
pub(crate) fn toy() -> ExitCode {
    if lab::probe::toy() > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(crate) fn main(args: &ProbeArgs) -> Result<Done, Failure> {
    let result = match args.kind {
        Kind::Compute => lab::probe::compute(),
        Kind::Memory => lab::probe::memory(),
        Kind::Toy => lab::probe::toy(),
    };
    print(&format!("{result}\n"));
    Ok(Done::Good)
}
