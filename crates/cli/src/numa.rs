//! `tauto numa`: memory nodes, and whether a program works on its own.

mod faults;
pub(crate) mod trace;

use crate::Done;
use crate::terminal::Failure;
use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct NumaArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a program, or watch one, and say whether it works on its own node's memory
    Trace(trace::TraceArgs),
}

pub(crate) fn main(args: NumaArgs) -> Result<Done, Failure> {
    match args.command {
        Command::Trace(args) => trace::main(args),
    }
}
