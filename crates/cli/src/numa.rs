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
    /// Show the NUMA nodes: CPUs, packages, memory and distances
    Topology(topology::TopologyArgs),
    /// Run or watch a program and report how much memory of other NUMA nodes it uses
    Trace(trace::TraceArgs),
    /// Decode an offcore mask: which requests it counts, by where they are answered
    Decode(masks::DecodeArgs),
    /// Encode an offcore mask
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
