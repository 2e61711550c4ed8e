//! `tauto numa`: memory nodes, and whether a program works on its own.

mod faults;
mod masks;
mod topology;
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
    /// Show the memory nodes: their CPUs, packages, memory, and how far they are from each other
    Topology(topology::TopologyArgs),
    /// Run a program, or watch one, and say whether it works on its own node's memory
    Trace(trace::TraceArgs),
    /// Take an offcore mask apart: which requests it counts, by where they are answered
    Decode(masks::DecodeArgs),
    /// Put an offcore mask together
    Encode(masks::EncodeArgs),
}

pub(crate) fn main(args: NumaArgs) -> Result<Done, Failure> {
    match args.command {
        Command::Topology(args) => topology::main(&args),
        Command::Trace(args) => trace::main(args),
        Command::Decode(args) => masks::decode(&args),
        Command::Encode(args) => masks::encode(&args),
    }
}
