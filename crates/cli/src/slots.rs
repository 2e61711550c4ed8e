//! `tauto slots`: how this machine's CPUs are divided.

use crate::Done;
use crate::place::{planned, wishes_for};
use crate::terminal::{Failure, print, style_of};
use clap::Args;
use host::machine::Machine;
use report::json::to_text;
use report::text::slots_table;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct SlotsArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Plan for a recorded machine: a file of `tauto audit --record`, or a directory with its /proc and /sys
    #[arg(long, value_name = "PATH")]
    root: Option<PathBuf>,
}

pub(crate) fn main(args: SlotsArgs) -> Result<Done, Failure> {
    let machine = match &args.root {
        Some(root) => Machine::at(root).map_err(|e| Failure::usage(format!("{}: {e}", root.display())))?,
        None => Machine::this().map_err(Failure::system)?,
    };
    let plan = planned(&machine, &wishes_for(args.root.as_deref())?)?;
    match args.json {
        true => print(&to_text(&plan)),
        false => print(&slots_table(&plan, style_of(&std::io::stdout()))),
    }
    Ok(Done::Good)
}
