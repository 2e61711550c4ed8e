//! Runs by another clock than the kernel's, and `tauto clocks`.

use crate::Done;
use crate::options::Clock;
use crate::run::command;
use crate::terminal::{Failure, print, style_of};
use clap::Args;
use engine::clocks::{self, Counted};
use model::{Observation, Reading, RunSpec};
use report::ClockStatus;
use report::json::{ClocksDocument, to_text};
use report::text::clocks_table;
use std::fs::File;
use std::os::fd::OwnedFd;

#[derive(Args, Debug)]
pub(crate) struct ClocksArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(args: &ClocksArgs) -> Result<Done, Failure> {
    let emulator = clocks::emulator();
    let emulator = emulator.map(|emulator| format!("{} ({})", emulator.path.display(), emulator.version));
    let kernel = "the kernel's account of the process tree".to_string();
    let all = [
        ClockStatus { name: "cpu", by: Reading::Known(kernel) },
        ClockStatus { name: "instructions", by: emulator.map_or_else(Reading::unknown, Reading::Known) },
    ];
    match args.json {
        true => print(&to_text(&ClocksDocument { clocks: &all })),
        false => print(&clocks_table(&all, style_of(&std::io::stdout()))),
    }
    Ok(Done::Good)
}

/// Prepares a run of this program by a clock.
pub(crate) fn on(
    clock: Clock,
    program: &str,
    spec: &mut RunSpec,
    fds: &mut Vec<OwnedFd>,
) -> Result<Option<Counted>, Failure> {
    if clock == Clock::Cpu {
        return Ok(None);
    }
    let emulator = clocks::emulator().map_err(Failure::system)?;
    let path = command::find_program(program)?;
    let file = File::open(&path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    if !clocks::is_program(&file) {
        let why = format!(
            "{}: under --clock instructions name the interpreter of a script before it",
            path.display()
        );
        return Err(Failure::usage(why));
    }
    Ok(Some(clocks::count(spec, fds, emulator).map_err(Failure::system)?))
}

/// The run with what its clock told.
pub(crate) fn told(counted: Option<Counted>, observation: Observation) -> Result<Observation, Failure> {
    match counted {
        Some(counted) => counted.told(observation).map_err(Failure::system),
        None => Ok(observation),
    }
}
