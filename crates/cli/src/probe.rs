//! `tauto probe`: the fixed programs of the noise floor. Runs in the sandbox.

use crate::Done;
use crate::terminal::{Failure, print};
use clap::{Args, ValueEnum};

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
}

pub(crate) fn main(args: &ProbeArgs) -> Result<Done, Failure> {
    let result = match args.kind {
        Kind::Compute => lab::probe::compute(),
        Kind::Memory => lab::probe::memory(),
    };
    print(&format!("{result}\n"));
    Ok(Done::Good)
}
